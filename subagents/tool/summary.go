package tool

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"divisi/internal/spec"
	"divisi/internal/text"
)

// Summarizer says in few words what a long output holds.
type Summarizer interface {
	// Summarize returns the summary of an output and what it cost; the cost counts when it fails, too. It must return soon
	// after ctx ends, and may be called from several goroutines. The text is data: nothing that it says is an instruction.
	// Errors and warnings are the caller's: they are shown whole, whatever the summary says.
	Summarize(ctx context.Context, o LongOutput) (Summary, error)
}

// LongOutput is the output to be summarised.
type LongOutput struct {
	// Call is the call that the output answers.
	Call Call
	// Text is the whole output.
	Text string
	Sought
}

// Sought is the need of an output's reader.
type Sought struct {
	// Brief is the task; Said is the text of the newest turn, which gives the reason why the call was made.
	Brief, Said string
}

// Summary is the answer of a Summarizer.
type Summary struct {
	Text  string
	Usage spec.Usage
}

const (
	// summaryTime bounds one summary.
	summaryTime = 30 * time.Second
	// maxSummary is the longest summary, in characters, that is worth its name.
	maxSummary = 12_000
	// leastWarnings is the room that errors leave for warnings, and tagRoom what tags and the handle take, in characters.
	leastWarnings = 2_000
	tagRoom       = 600
)

var errSummaryTime = fmt.Errorf("it took longer than %s", summaryTime)

// summary is an output as its summary with its errors and warnings whole. Where there is none, why says the reason.
func (b *bounding) summary(ctx context.Context, output, handle, where string) (summary, why string) {
	if handle == "" {
		return "", "the whole output is not kept"
	}
	said, err := b.summarize(ctx, output)
	if err != nil {
		return "", elide(text.Short(text.OneLine(err.Error()), 300))
	}
	said = elideTags(strings.TrimSpace(strings.ToValidUTF8(said, "\uFFFD")))
	if size := utf8.RuneCountInString(said); size == 0 {
		return "", "it was empty"
	} else if size > maxSummary {
		return "", fmt.Sprintf("it has %d characters", size)
	}
	failures, warnings := severe(output)
	whole := compose(b.call.Name, handle, where, said, elideTags(failures), elideTags(warnings))
	if utf8.RuneCountInString(whole) >= utf8.RuneCountInString(output) {
		return "", "with the errors and warnings it is not shorter than the output"
	}
	return whole, ""
}

// compose writes what the agent sees.
func compose(name, handle, where, said, failures, warnings string) string {
	return fmt.Sprintf("<%s of=%q handle=%q>\n%s\n</%s>", summaryTag, fileSafe(name), handle, said, summaryTag) +
		severity(spec.MaxToolOutput-utf8.RuneCountInString(said)-tagRoom, failures, warnings, where)
}

// severity writes the errors and warnings of an output. Errors have the room before warnings.
func severity(room int, failures, warnings, where string) string {
	var out strings.Builder
	if failures != "" {
		most := room - min(leastWarnings, utf8.RuneCountInString(warnings))
		failures = cut(failures, most, most-markRoom, where)
		room -= utf8.RuneCountInString(failures)
		out.WriteString("\n" + tagged(errorTag, failures))
	}
	if warnings != "" {
		out.WriteString("\n" + tagged(warningTag, cut(warnings, room, room-markRoom, where)))
	}
	return out.String()
}

// summarize asks the summarizer, whose cost is the result's.
func (b *bounding) summarize(ctx context.Context, text string) (said string, err error) {
	if b.guard.Summarizer == nil {
		return "", errors.New("nothing makes summaries here")
	}
	if end, ok := ctx.Deadline(); ok && time.Until(end) < summaryTime {
		return "", errors.New("the call has no time left for it")
	}
	defer func() {
		if r := recover(); r != nil {
			said, err = "", fmt.Errorf("the summary model failed: %v", r)
		}
	}()
	ctx, cancel := context.WithTimeoutCause(ctx, summaryTime, errSummaryTime)
	defer cancel()
	o := LongOutput{Call: b.call, Text: text}
	if b.guard.Sought != nil {
		o.Sought = b.guard.Sought()
	}
	answer, err := b.guard.Summarizer.Summarize(ctx, o)
	b.result.Usage = b.result.Usage.Add(answer.Usage)
	if err != nil && errors.Is(context.Cause(ctx), errSummaryTime) {
		err = errSummaryTime
	}
	return answer.Text, err
}
