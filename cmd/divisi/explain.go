package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/subagents/agent"
	"divisi/subagents/tool"
	"divisi/subagents/worker"
)

// explainFlags choose what of an attempt's context is shown.
type explainFlags struct {
	turn        int
	diff        string
	raw         bool
	compactions bool
}

// explain shows what a model saw at one turn, or what changed between two.
func (g *globals) explain(ctx context.Context, name string, f explainFlags) error {
	if f.turn < 0 {
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
	// Another command may have held the store and ended in between: then this one can hold it.
	for range lookTries {
		err = g.explainTask(ctx, run, task, attempt, f)
		if !errors.Is(err, bus.ErrNoOwner) {
			break
		}
	}
	return err
}

// lookTries is how often the command starts again when the holder of the store ended meanwhile.
const lookTries = 5

// explainTask reads all that it shows before it prints anything, so that it can start again.
func (g *globals) explainTask(ctx context.Context, run, task string, attempt int, f explainFlags) error {
	b, _, err := g.store().Open(ctx, run)
	if err != nil {
		return err
	}
	defer g.store().Close(b)
	e, err := g.explainer(ctx, b, run, task, attempt)
	if err != nil {
		return err
	}
	err = g.showContext(ctx, e, f)
	if errors.Is(err, agent.ErrNoTurn) {
		return usagef("%v", err)
	}
	return err
}

func (g *globals) showContext(ctx context.Context, e *agent.Explainer, f explainFlags) error {
	switch {
	case f.compactions:
		return g.showCompactions(e)
	case f.diff != "":
		return g.showDiff(ctx, e, f.diff)
	}
	seen, err := e.Turn(ctx, f.turn)
	if err != nil {
		return err
	}
	switch {
	case f.raw:
		body, err := model.Raw(ctx, seen.Answered)
		if err != nil {
			return fmt.Errorf("write the request of turn %d: %w", seen.Turn, err)
		}
		_, err = fmt.Fprintf(g.out, "%s\n", body)
		return err
	case g.json():
		return encodeLine(g.out, seen)
	default:
		return writeExplained(g.out, seen)
	}
}

func (g *globals) showCompactions(e *agent.Explainer) error {
	list, err := e.Compactions()
	if err != nil {
		return err
	}
	if g.json() {
		return encodeLine(g.out, map[string]any{"compactions": list})
	}
	return writeCompactions(g.out, list)
}

// splitTask reads RUN/TASK or RUN/TASK/ATTEMPT.
func splitTask(name string) (run, task string, attempt int, err error) {
	parts := strings.Split(name, "/")
	if len(parts) < 2 || len(parts) > 3 || parts[1] == "" {
		return "", "", 0, usagef("%q must be RUN/TASK or RUN/TASK/ATTEMPT", name)
	}
	if len(parts) == 3 {
		if attempt, err = strconv.Atoi(parts[2]); err != nil || attempt < 1 {
			return "", "", 0, usagef("%q: the attempt counts from 1", name)
		}
	}
	return parts[0], parts[1], attempt, nil
}

// whyNone explains why a task has no such attempt: it was not started, or has another name.
func whyNone(st *run.State, task string) string {
	if st.Works[task] != nil {
		return ""
	}
	if t := st.Tasks[task]; t != nil {
		return strings.TrimSuffix(fmt.Sprintf(": it was not started and is %s: %s", t.State, t.Reason), ": ")
	}
	return nearest(task, slices.Sorted(maps.Keys(st.Works)))
}

// explainer reads everything that the attempt's requests were compiled from.
func (g *globals) explainer(ctx context.Context, b *bus.Bus, run, task string, attempt int) (*agent.Explainer, error) {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	mirror, err := gitCLI.OpenMirror(filepath.Join(g.store().Run(run), "repo.git"))
	if err != nil {
		return nil, err
	}
	st, err := g.store().Fold(ctx, b, run)
	if err != nil {
		return nil, err
	}
	a, err := assign.Read(ctx, st, b, task, attempt)
	switch {
	case errors.Is(err, assign.ErrNoAttempt):
		return nil, usagef("%v%s\nSee: divisi show %s", err, whyNone(st, task), run)
	case errors.Is(err, assign.ErrNotKept):
		return nil, usagef("%v", err)
	case err != nil:
		return nil, err
	}
	if a.Role.Executor != spec.ExecutorModel {
		return nil, usagef("%s ran a command or gates, and no model: there is no request to show", a.Agent())
	}
	var extra []tool.Tool
	if slices.Contains(a.Role.Tools, spec.ToolDispatch) {
		extra = append(extra, plan.NewTool(nil, nil, st.Spec.Roles))
	}
	return worker.Explain(ctx, b, mirror, a, extra)
}
