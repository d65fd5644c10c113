package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator"
	"divisi/orchestrator/act"
)

// One run that waits for decisions is acted on through each door: where no process has it, and where one has.
func TestEachActThroughEachDoor(t *testing.T) {
	t.Parallel()
	me, err := user.Current()
	require.NoError(t, err)
	first := &acted{repo: filepath.Join(t.TempDir(), "repo"), state: t.TempDir()}
	actedRepo(t, first.repo)
	r, err := orchestrator.Start(t.Context(), first.options(first.state))
	require.NoError(t, err)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "stopped", end.State)
	first.run, first.runs = r.ID(), orchestrator.Local(first.state)
	first.still(t)
	first.before = len(first.log(t))
	for i, d := range doors {
		for _, when := range []string{whenAtRest, whenActive} {
			if i > 0 && when == whenActive && testing.Short() {
				continue
			}
			t.Run(d.name+" "+when, func(t *testing.T) {
				t.Parallel()
				a := *first
				a.state, a.dir, a.who = t.TempDir(), filepath.Join(t.TempDir(), "taken"), "user:"+me.Username+d.as
				require.NoError(t, os.CopyFS(a.state, os.DirFS(first.state)))
				a.runs = orchestrator.Local(a.state)
				if when == whenActive {
					a.resumed(t)
				}
				a.tries(t, d)
			})
		}
	}
}

// options start the run whose decisions wait.
func (a *acted) options(stateDir string) orchestrator.Options {
	return orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: stateDir, OnDoubt: "ask"}, Repo: a.repo, AllowUnread: true, Parallel: 8,
		Plan: &orchestrator.File{Name: "plan.yaml", Data: []byte(actedPlan)},
	}
}

// still stops the line of the run, so that it does nothing but what it is asked.
func (a *acted) still(t *testing.T) {
	t.Helper()
	r, err := a.runs.Open(t.Context(), a.run)
	require.NoError(t, err)
	_, err = r.Act(t.Context(), act.StopLine{Reason: "first"})
	require.NoError(t, err)
	open, err := r.Decisions(t.Context())
	require.NoError(t, err)
	for _, d := range open {
		a.decisions = append(a.decisions, strings.ToUpper(d.About), d.ID)
	}
	require.NoError(t, r.Close())
}

// resumed has this process conduct the run until it is paused.
func (a *acted) resumed(t *testing.T) {
	t.Helper()
	r, err := orchestrator.Resume(t.Context(), orchestrator.ResumeOptions{Run: a.run, Machine: orchestrator.Machine{
		StateDir: a.state, OnDoubt: "ask", Approve: func(ctx context.Context, _ orchestrator.Approval) (orchestrator.Answer, error) {
			<-ctx.Done()
			return orchestrator.Answer{}, context.Cause(ctx)
		},
	}})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Close()) })
	a.active, a.holder = true, r
	require.Eventually(t, func() bool { // it has just begun
		_, err := theAPI(t, a, &tries[slices.IndexFunc(tries, func(a tried) bool { return a.refused })])
		return err != nil && strings.Contains(err.Error(), "is stopped already")
	}, time.Minute, time.Millisecond)
}

// tries does what a door has, one act after the other.
func (a *acted) tries(t *testing.T, d way) {
	t.Helper()
	acted, asks := a.active, d.name == doors[0].name
	if asks {
		a.asks(t)
	}
	var leaves []string
	for i := range tries {
		what := &tries[i]
		when := whenAtRest
		if a.active {
			when = whenActive
		}
		if !d.has(what) || what.only != "" && what.only != when ||
			what.goesOn && !a.active && (d.name == doors[0].name || a.on != "") { // it resumes the run in this process, or on the server
			continue
		}
		outcome, err := d.do(t, a, what)
		want, refused := a.named(what.outcome), what.refused
		switch {
		case a.on == "":
		case d.name == doors[0].name && what.on != "":
			want, refused = what.on, true
		case d.name != doors[0].name && what.onPage != "":
			want, refused = a.named(what.onPage), true
		}
		if refused {
			require.ErrorContains(t, err, want, what.act)
			continue
		}
		require.NoError(t, err, what.act)
		if begin, more := strings.CutSuffix(want, "…"); more && strings.HasPrefix(outcome, begin) {
			want = outcome
		}
		require.Equal(t, want, outcome, what.act)
		for _, e := range what.leaves {
			leaves = append(leaves, a.named(e))
		}
		switch what.act {
		case "take":
			require.NoError(t, os.WriteFile(filepath.Join(a.dir, "gives.txt"), []byte("more\n"), 0o600))
		case "pause":
			if a.ended(t); asks {
				a.asks(t)
			}
		}
	}
	left := a.log(t)[a.before:]
	if acted { // which did more beside
		left = slices.DeleteFunc(left, func(line string) bool { return !slices.Contains(leaves, line) })
	}
	require.Equal(t, strings.Join(leaves, "\n"), strings.Join(left, "\n"))
}

// ended waits until the process of a run has ended.
func (a *acted) ended(t *testing.T) {
	t.Helper()
	end, err := a.holder.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "stopped paused by a person", end.State+" "+end.Reason)
	require.NoError(t, a.holder.Close())
	a.active = false
}

// log is what the log of a run holds, an event a line: kind, task and data without what differs between runs.
func (a *acted) log(t *testing.T) (lines []string) {
	t.Helper()
	r, err := a.runs.Open(t.Context(), a.run)
	require.NoError(t, err)
	for line, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		var e struct {
			Kind string          `json:"kind"`
			Task string          `json:"task"`
			Data json.RawMessage `json:"data"`
		}
		require.NoError(t, json.Unmarshal(line, &e))
		data := regexp.MustCompile(`[0-9a-f]{40}`).ReplaceAllString(string(e.Data), "HASH")
		lines = append(lines, strings.Join(strings.Fields(fmt.Sprintf("%s %s %s", e.Kind, e.Task, data)), " "))
	}
	require.NoError(t, r.Close())
	return lines
}
