package console

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
)

// Limits names the limits that are set.
func Limits(l spec.Limits) string {
	var out []string
	for _, n := range []struct {
		count int
		of    string
	}{{l.Turns, "turns"}, {l.Tokens, "tokens"}, {l.ToolCalls, "tool calls"}} {
		if n.count > 0 {
			out = append(out, fmt.Sprintf("%d %s", n.count, n.of))
		}
	}
	for _, d := range []struct {
		time spec.Duration
		of   string
	}{{l.Time, ""}, {l.Idle, " idle"}, {l.Call, " a model call"}, {l.Tool, " a tool call"}} {
		if d.time > 0 {
			out = append(out, d.time.String()+d.of)
		}
	}
	return strings.Join(out, ", ")
}
