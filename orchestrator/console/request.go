package console

import (
	"cmp"
	"fmt"
	"strings"

	"divisi/contextscope"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// requestLine says what an agent asks of others. A question is told to people at once: it may be theirs to answer.
func requestLine(e *contextscope.Event, q wire.Request) line {
	switch q.Kind {
	case wire.RequestAsk:
		say := fmt.Sprintf("%s asks: %s", who(e), q.Question)
		if len(q.Options) > 0 {
			say += fmt.Sprintf(" (%s)", strings.Join(q.Options, ", "))
		}
		to := e.Run + "/" + strings.TrimSuffix(e.Task, run.VerifySuffix)
		return line{fmt.Sprintf("%s; answer: divisi send %s \"…\"", say, to), warn}
	case wire.RequestDelegate:
		return line{fmt.Sprintf("%s asks for a %s: %s", who(e), q.Role, cmp.Or(q.Title, q.Brief)), plain}
	case wire.RequestTransfer:
		return line{fmt.Sprintf("%s hands its task over to %s: %s", who(e), q.Role, q.Brief), plain}
	case wire.RequestScope:
		return line{fmt.Sprintf("%s asks to write %s: %s", who(e), strings.Join(q.Paths, ", "), q.Reason), plain}
	case wire.RequestSend:
		return line{fmt.Sprintf("%s writes to %s", who(e), q.Task), plain}
	}
	return line{}
}

// answerLine says what became of a request. The ends of tasks have lines of their own.
func answerLine(e *contextscope.Event, a wire.Answer) line {
	switch {
	case a.Refused != "":
		return line{fmt.Sprintf("%s is refused: %s", e.Task, a.Refused), warn}
	case a.From != "":
		return line{fmt.Sprintf("%s answers %s: %s", a.From, e.Task, a.Text), good}
	case len(a.Granted) > 0:
		return line{fmt.Sprintf("%s may write %s too", e.Task, strings.Join(a.Granted, ", ")), good}
	}
	return line{}
}

// waitsFor describes what an agent waits for.
func waitsFor(q wire.Request) string {
	switch q.Kind {
	case wire.RequestAsk:
		return "waits for an answer: " + q.Question
	case wire.RequestDelegate:
		return fmt.Sprintf("waits for a %s: %s", q.Role, cmp.Or(q.Title, q.Brief))
	default:
		return "asks for " + q.Kind
	}
}
