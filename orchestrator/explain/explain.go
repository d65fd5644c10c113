// Package explain shows the request to a model at one turn of an attempt, the changes between two turns, and the compactions. Its
// input is the run's log, its objects and its mirror; its output is JSON, or the same for people. It writes nothing.
package explain

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
	"divisi/subagents/agent"
	"divisi/subagents/tool"
	"divisi/subagents/worker"
)

// View chooses what is shown: a turn, 0 for the newest, as it was compiled or Raw as the service was sent it; or the
// Sizes of its parts; or what changed between the turns From and To, where they are set; or Compactions. Text is for people; else
// it is JSON.
type View struct {
	Turn, From, To                int
	Raw, Sizes, Compactions, Text bool
}

// Show shows an attempt of a task; 0 is the newest. What does not exist is a usage.Error.
func Show(ctx context.Context, dir store.Dir, b *bus.Bus, run, task string, attempt int, v View) ([]byte, error) {
	e, err := Open(ctx, dir, b, run, task, attempt)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	shown, write, err := v.look(ctx, e)
	switch {
	case errors.Is(err, agent.ErrNoTurn):
		err = usage.Errorf("%v", err)
	case err == nil && v.Text:
		err = write(&out)
	case err == nil:
		var line []byte
		line, err = spec.JSON(shown)
		out.Write(append(line, '\n'))
	}
	return out.Bytes(), err
}

// look returns what is shown, and what writes it for people.
func (v *View) look(ctx context.Context, e *agent.Explainer) (shown any, write func(io.Writer) error, err error) {
	switch {
	case v.Compactions:
		list, err := e.Compactions()
		return map[string]any{"compactions": list}, func(w io.Writer) error { return writeCompactions(w, list) }, err
	case v.From > 0:
		d, err := compare(ctx, e, v.From, v.To)
		return d, func(w io.Writer) error { return writeDiff(w, d) }, err
	}
	seen, err := e.Turn(ctx, v.Turn)
	if v.Sizes {
		return map[string]any{"sizes": sizesOf(seen)}, func(w io.Writer) error { return writeSizes(w, seen) }, err
	}
	if err != nil || !v.Raw {
		return seen, func(w io.Writer) error { return writeExplained(w, seen) }, err
	}
	body, err := model.Raw(ctx, seen.Answered)
	if err != nil {
		err = fmt.Errorf("write the request of turn %d: %w", seen.Turn, err)
	}
	return json.RawMessage(body), func(w io.Writer) error {
		_, err := fmt.Fprintf(w, "%s\n", body)
		return err
	}, err
}

// whyNone explains why a task has no such attempt: it was not started, or has another name.
func whyNone(st *run.State, task string) string {
	if st.Works[task] != nil {
		return ""
	}
	if t := st.Tasks.ByID[task]; t != nil {
		return strings.TrimSuffix(fmt.Sprintf(": it was not started and is %s: %s", t.State, t.Reason), ": ")
	}
	if near := spec.Nearest(task, slices.Sorted(maps.Keys(st.Works))); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// sharedWith names the tasks for which the process of an attempt ran too; empty where it had one of its own.
func sharedWith(works run.Works, task string, attempt int) string {
	of := func(w *run.Work) spec.Shared {
		if a := w.At(attempt); a != nil && a.Result != nil && a.Result.Shared != nil {
			return *a.Result.Shared
		}
		return spec.Shared{}
	}
	mine := of(works[task])
	var others []string
	for id, w := range works {
		if id != task && mine.Tasks > 0 && of(w) == mine {
			others = append(others, id)
		}
	}
	if len(others) == 0 {
		return ""
	}
	slices.Sort(others)
	return "; its process ran for " + text.Some(others, maxShared) + " too"
}

// maxShared bounds the tasks of one process that a message names.
const maxShared = 20

// Open reads everything that the attempt's requests were compiled from.
func Open(
	ctx context.Context, dir store.Dir, b *bus.Bus, run, task string, attempt int,
) (*agent.Explainer, error) {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	mirror, err := gitCLI.OpenMirror(filepath.Join(dir.Run(run), "repo.git"))
	if err != nil {
		return nil, err
	}
	st, err := dir.Fold(ctx, b, run)
	if err != nil {
		return nil, err
	}
	a, err := assign.Read(ctx, st.Works, b, task, attempt)
	switch {
	case errors.Is(err, assign.ErrNoAttempt):
		return nil, usage.With(usage.Errorf("%v%s", err, whyNone(st, task)), usage.Show, run)
	case errors.Is(err, assign.ErrNotKept):
		return nil, usage.Errorf("%v", err)
	case err != nil:
		return nil, err
	}
	if a.Role.Executor != spec.ExecutorModel {
		return nil, usage.Errorf("%s ran a command or gates, and no model: there is no request to show%s", a.Agent(),
			sharedWith(st.Works, task, a.Attempt))
	}
	var extra []tool.Tool
	if slices.Contains(a.Role.Tools, spec.ToolDispatch) {
		extra = append(extra, plan.NewTool(nil, st.Spec.Roles))
	}
	return worker.Explain(ctx, b, mirror, a, extra)
}
