package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"google.golang.org/genai"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
	"divisi/subagents"
	"divisi/subagents/tool"
)

// explain shows what a model saw at one turn.
func (g *globals) explain(ctx context.Context, name string, turn int) error {
	if turn < 0 {
		return usagef("--turn counts from 1")
	}
	runName, task, attempt, err := splitTask(name)
	if err != nil {
		return err
	}
	run, err := g.findRun([]string{runName})
	if err != nil {
		return err
	}
	seen, err := g.compileAgain(ctx, run, task, attempt, turn)
	if err != nil {
		return err
	}
	if g.json() {
		return encodeLine(g.out, seen)
	}
	return writeExplained(g.out, seen)
}

// splitTask reads RUN/TASK or RUN/TASK/ATTEMPT.
func splitTask(name string) (run, task string, attempt int, err error) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[1] == "" {
		return "", "", 0, usagef("%q: want RUN/TASK or RUN/TASK/ATTEMPT", name)
	}
	if len(parts) == 3 { //nolint:mnd // with an attempt
		if attempt, err = strconv.Atoi(parts[2]); err != nil || attempt < 1 {
			return "", "", 0, usagef("%q: the attempt counts from 1", name)
		}
	}
	return parts[0], parts[1], attempt, nil
}

func (g *globals) compileAgain(ctx context.Context, run, task string, attempt, turn int) (subagents.Explained, error) {
	var none subagents.Explained
	b, _, err := g.openRun(ctx, run)
	if err != nil {
		return none, err
	}
	defer g.closeBus(b)
	gitCLI, err := git.New(ctx)
	if err != nil {
		return none, err //nolint:wrapcheck // it says what to install
	}
	mirror, err := gitCLI.OpenMirror(filepath.Join(g.runDir(run), "repo.git"))
	if err != nil {
		return none, err //nolint:wrapcheck // it names the mirror
	}
	c, err := orchestrator.New(ctx, orchestrator.Config{Run: run, Bus: b, Mirror: mirror, Clock: now, NewID: newID(), Log: g.log})
	if err != nil {
		return none, err //nolint:wrapcheck // it names the run
	}
	a, err := c.Assignment(ctx, task, attempt)
	if errors.Is(err, orchestrator.ErrNoAttempt) {
		known := slices.Sorted(maps.Keys(c.State().Works))
		return none, usagef("%v%s\nSee: divisi show %s", err, nearest(task, known), run)
	}
	if err != nil {
		return none, err //nolint:wrapcheck // it names the attempt
	}
	if a.Role.Executor != spec.ExecutorModel {
		return none, usagef("%s was carried out by a command or by gates alone: no model saw anything", a.Agent())
	}
	var extra []tool.Tool
	if slices.Contains(a.Role.Tools, spec.ToolDispatch) {
		extra = append(extra, orchestrator.NewDispatch(b, run, nil, configs.PlanSchema()))
	}
	seen, err := subagents.Explain(ctx, b, a, turn, extra)
	if errors.Is(err, subagents.ErrNoTurn) {
		return none, usagef("%v", err)
	}
	return seen, err //nolint:wrapcheck // it names the attempt
}

// writeExplained prints a request for people: each content with its parts, then the trace.
func writeExplained(w io.Writer, seen subagents.Explained) error {
	fmt.Fprintf(w, "%s, turn %d of %d\n", seen.Agent, seen.Turn, seen.Turns)
	if seen.System != nil {
		writeContent(w, "system", seen.System)
	}
	for i, c := range seen.Contents {
		mark := ""
		if i+1 == seen.Prefix {
			mark = "  (the stable prefix ends here)"
		}
		writeContent(w, fmt.Sprintf("content %d, %s%s", i+1, c.Role, mark), c)
	}
	fmt.Fprintln(w, "\n== trace")
	for _, t := range seen.Trace {
		fmt.Fprintf(w, "%-12s %s (%d parts, about %d tokens)\n", t.Processor, console.Sanitize(t.What), t.Parts, t.Tokens)
		for _, n := range t.Notes {
			fmt.Fprintf(w, "%-12s   %s\n", "", console.Sanitize(n))
		}
	}
	return nil
}

func writeContent(w io.Writer, head string, c *genai.Content) {
	fmt.Fprintf(w, "\n== %s\n", head)
	for _, p := range c.Parts {
		switch {
		case p.FunctionCall != nil:
			fmt.Fprintf(w, "→ %s(%s)\n", console.Sanitize(p.FunctionCall.Name), console.Sanitize(inline(p.FunctionCall.Args)))
		case p.FunctionResponse != nil:
			r := p.FunctionResponse
			fmt.Fprintf(w, "← %s: %s\n", console.Sanitize(r.Name), console.Sanitize(inline(r.Response)))
		case p.Thought:
			fmt.Fprintf(w, "(thought) %s\n", sanitizeLines(p.Text))
		case p.Text != "":
			fmt.Fprintln(w, sanitizeLines(p.Text))
		default:
			fmt.Fprintf(w, "(a part that is no text: %s)\n", console.Sanitize(inline(p)))
		}
	}
}

// sanitizeLines keeps line breaks and indentation, and nothing else that a terminal would obey.
func sanitizeLines(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		text := strings.ReplaceAll(lines[i], "\t", "    ")
		rest := strings.TrimLeft(text, " ")
		lines[i] = text[:len(text)-len(rest)] + console.Sanitize(rest)
	}
	return strings.Join(lines, "\n")
}

func inline(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}
