package console

import (
	"divisi/orchestrator/view/feed"
)

// paint colours text, or leaves it as it is.
type paint struct{ color bool }

func (p paint) do(code, s string) string {
	if !p.color || s == "" {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

func (p paint) tone(t feed.Tone, s string) string {
	if t < feed.Good {
		return s
	}
	return p.do([]string{feed.Good: "32", feed.Warn: "33", feed.Bad: "31"}[t], s)
}

func (p paint) state(state, s string) string {
	switch state {
	case "done", "landed", "proven":
		return p.do("32", s)
	case "unverified", "held":
		return p.do("33", s)
	case "parked":
		return p.do("31", s)
	case "stopped", "cancelled", "skipped", "dropped", "waiting", "not reached", "pending":
		return p.do("2", s)
	default:
		return p.do("36", s)
	}
}
