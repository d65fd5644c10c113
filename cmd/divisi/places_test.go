package main

import (
	"context"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/fault"
)

// asked is a question to a run, or an act that is refused, with its answer: the same wherever the run is, but where that is why.
type Asked struct {
	what         string
	ask          func(ctx context.Context, r *orchestrator.Run, dir string) (string, error)
	want         string
	mistake      bool   // it is the error, a mistake of the caller
	away, atRest string // where the run is on a server, and where no process carries it out; "" for the same
}

// questions are stable while the table of acts is tried.
var questions = []Asked{
	{what: "its id", want: "RUN", ask: func(_ context.Context, r *orchestrator.Run, _ string) (string, error) { return r.ID(), nil }},
	{what: "its goal, by its first event", want: "Try each act", ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
		var first struct {
			Data struct {
				Spec struct {
					Plan struct {
						Goal string `json:"goal"`
					} `json:"plan"`
				} `json:"spec"`
			} `json:"data"`
		}
		for line, err := range r.Events(ctx) {
			if err != nil {
				return "", err
			}
			return first.Data.Spec.Plan.Goal, json.Unmarshal(line, &first)
		}
		return "", nil
	}},
	{
		what: "what is open", want: "DECIDES decides_test.go",
		ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			open, err := r.Decisions(ctx)
			for _, d := range open {
				if d.About == "decides" {
					return d.ID + " " + strings.Join(d.Patches[0].Files, " "), err
				}
			}
			return "", err
		},
	},
	{what: "a report", want: "Try each act", ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
		return field(ctx, r.Report, "goal")
	}},
	{what: "a patch", want: "decides_test.go", ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
		return field(ctx, func(ctx context.Context) (json.RawMessage, error) { return r.Diff(ctx, "decides", 0, false) }, "files")
	}},
	{
		what: "the patch of an unknown task", want: `run RUN has no task "nosuch"`, mistake: true,
		ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			_, err := r.Diff(ctx, "nosuch", 0, false)
			return "", err
		},
	},
	{
		what: "the context of a command", want: "decides", mistake: true,
		ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			_, err := r.Context(ctx, "decides", 0, orchestrator.ContextView{})
			return "", err
		},
	},
	{
		what: "to take an unknown task", want: `run RUN has no task "nosuch"`, mistake: true,
		away: "an attempt is taken where run RUN is conducted",
		ask: func(ctx context.Context, r *orchestrator.Run, dir string) (string, error) {
			_, err := r.Take(ctx, "nosuch", 0, filepath.Join(dir, "nosuch"))
			return "", err
		},
	},
	{
		what: "to drop an unknown task", want: `run RUN has no task "nosuch"`, mistake: true,
		ask: does(act.Drop{Tasks: []string{"nosuch"}}),
	},
	{
		what: "to skip an unknown task", want: `run RUN has no task "nosuch"`, mistake: true,
		ask: does(act.Skip{Tasks: []string{"nosuch"}}),
	},
	{
		what: "whether it runs", want: "it does", atRest: "it does not",
		ask: func(_ context.Context, r *orchestrator.Run, _ string) (string, error) {
			if r.NotRunning() {
				return "it does not", nil
			}
			return "it does", nil
		},
	},
	{
		what: "to wait for no time", want: context.Canceled.Error(), atRest: "stopped",
		ask: func(ctx context.Context, r *orchestrator.Run, _ string) (string, error) {
			if !r.NotRunning() {
				var end context.CancelFunc
				ctx, end = context.WithCancel(ctx)
				end()
			}
			result, err := r.Wait(ctx)
			if err != nil {
				return err.Error(), nil //nolint:nilerr // it is what is asked for
			}
			return result.State, nil
		},
	},
}

func field(ctx context.Context, of func(context.Context) (json.RawMessage, error), name string) (string, error) {
	data, err := of(ctx)
	if err != nil {
		return "", err
	}
	var fields map[string]any
	if err := json.Unmarshal(data, &fields); err != nil {
		return "", err
	}
	if list, ok := fields[name].([]any); ok {
		return list[0].(string), nil
	}
	return fields[name].(string), nil
}

// asks asks the run that is opened at its place, and the one that this process conducts.
func (a *acted) asks(t *testing.T) {
	t.Helper()
	r, err := a.runs.Open(t.Context(), a.run)
	require.NoError(t, err)
	a.answers(t, r)
	require.NoError(t, r.Close())
	for _, err := range r.Events(t.Context()) {
		require.ErrorIs(t, err, orchestrator.ErrClosed)
	}
	if a.active && a.on == "" {
		a.answers(t, a.holder)
	}
}

func (a *acted) answers(t *testing.T, r *orchestrator.Run) {
	t.Helper()
	for _, q := range questions {
		want := q.want
		if a.on != "" && q.away != "" {
			want = q.away
		}
		if !a.active && q.atRest != "" {
			want = q.atRest
		}
		answer, err := q.ask(t.Context(), r, a.dir)
		if q.mistake {
			require.ErrorContains(t, err, a.named(want), q.what)
			require.True(t, fault.IsUsage(err), "%s: %v", q.what, err)
			continue
		}
		require.NoError(t, err, q.what)
		require.Equal(t, a.named(want), answer, q.what)
	}
}
