package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/tool"
)

// maxGateFailures is how many new failures of one gate are listed.
const maxGateFailures = 40

// Gates runs the gates of a task in the agent's own tree.
type Gates interface {
	// Names are the gates that there are, in the order in which they run.
	Names() []string
	// Run runs one of them, confined, and returns when it and everything that it started are gone. A red gate is a
	// GateRun; the error is for one that could not be started, or whose context ended.
	Run(ctx context.Context, name string) (GateRun, error)
}

// GateRun is the outcome of one gate.
type GateRun struct {
	spec.Receipt
	// New are the signatures that the base commit does not have.
	New []string
}

type gateArgs struct {
	Gates []string `json:"gates,omitempty" jsonschema:"default all"`
}

// Doing describes the call.
func (a gateArgs) Doing() string {
	if len(a.Gates) > 0 {
		return "running the gates " + strings.Join(a.Gates, ", ")
	}
	return "running the gates"
}

func (t *tools) runGates(ctx context.Context, a gateArgs) tool.Result {
	all, names := t.Gates.Names(), a.Gates
	if len(all) == 0 {
		return tool.Failed("this project has no gates: build and test with run_command")
	}
	var unknown []string
	for _, name := range names {
		if !slices.Contains(all, name) {
			unknown = append(unknown, fmt.Sprintf("%q", text.Short(text.OneLine(name), 64)))
		}
	}
	if len(unknown) > 0 {
		return tool.Failed("there is no gate %s; the gates are %s", strings.Join(unknown, ", "), strings.Join(all, ", "))
	}
	if len(names) == 0 {
		names = all
	}
	var b strings.Builder
	red := 0
	for i, name := range names {
		if slices.Contains(names[:i], name) {
			continue
		}
		tool.Beat(ctx, "gate "+name)
		r, err := t.Gates.Run(ctx, name)
		if err != nil {
			return tool.Failed("%sgate %s could not be run: %v", &b, name, err)
		}
		if r.Verdict != spec.VerdictPass && r.Verdict != spec.VerdictBaseline {
			red++
		}
		r.write(&b)
	}
	return tool.Result{Output: map[string]any{"output": b.String(), "red": red}, Red: red > 0}
}

// write describes one gate, but not how long it took: runs that differ in nothing else are to look the same.
func (r *GateRun) write(b *strings.Builder) {
	fmt.Fprintf(b, "%s: %s (exit code %d): %s\n", r.Gate, gateWords(r), r.ExitCode, strings.Join(r.Command, " "))
	if r.Verdict == spec.VerdictPass {
		return
	}
	for i, s := range r.New {
		if i == maxGateFailures {
			fmt.Fprintf(b, "- and %d more\n", len(r.New)-i)
			break
		}
		fmt.Fprintf(b, "- new: %s\n", Plain(s))
	}
	if tail := strings.TrimSpace(Plain(r.Tail)); tail != "" {
		fmt.Fprintf(b, "%s\n", tail)
	}
}

func gateWords(r *GateRun) string {
	switch {
	case r.Verdict == spec.VerdictBaseline:
		return "red, as on the base commit, and with nothing new"
	case r.Verdict == spec.VerdictUnattributable:
		return "red, and it cannot be told whether by your change: it is red on the base commit too"
	case r.Verdict != spec.VerdictFail:
		return r.Verdict
	case r.TimedOut:
		return "fail, it took too long"
	case r.Build:
		return "fail, it does not build"
	}
	return "fail"
}
