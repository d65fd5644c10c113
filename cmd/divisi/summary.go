package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/report"
	"divisi/orchestrator/run"
)

// summaryVersion is that of the format of a summary. It changes with what a report has or means.
const summaryVersion = 1

// concludeTime bounds how long the end of a run takes to keep its summary; the next command that looks at the run keeps it too.
const concludeTime = 10 * time.Second

// summary is summary.json in a run's directory: how a run ended, for commands that would else open its store to find out. It
// counts while no process has taken the store since: Held is when it was taken by the process that read the log.
type summary struct {
	Version int           `json:"version"`
	Held    time.Time     `json:"held"`
	Report  report.Report `json:"report"`
}

func (g *globals) summaryFile(run string) string { return filepath.Join(g.runDir(run), "summary.json") }

// summarised returns the report of a run that has ended. It is false where none is kept, or the one that is kept does not count:
// what it says is in the log too.
func (g *globals) summarised(run string) (report.Report, bool) {
	var s summary
	held, err := bus.Taken(g.busDir(run))
	if err != nil {
		return s.Report, false
	}
	data, err := os.ReadFile(g.summaryFile(run))
	if err != nil || json.Unmarshal(data, &s) != nil || s.Version != summaryVersion || !s.Held.Equal(held) ||
		s.Report.Run != run || !s.Report.State.Ended() {
		return s.Report, false
	}
	s.Report.Quotas = slices.DeleteFunc(s.Report.Quotas, func(q spec.Wait) bool { return !q.Until.After(now()) })
	return s.Report, true
}

// summarise keeps the report of a run that has ended and whose store this process holds. Without it commands read the log.
func (g *globals) summarise(st *run.State) {
	if !st.Status.Ended() || st.Wait.For != "" || len(st.Unread) > 0 {
		return
	}
	if err := g.writeSummary(st.Spec.Run, report.Of(st)); err != nil {
		g.log.Info().Err(err).Str("run", st.Spec.Run).Msg("no summary is kept")
	}
}

func (g *globals) writeSummary(run string, r report.Report) error {
	held, err := bus.Taken(g.busDir(run))
	if err != nil {
		return err
	}
	data, err := json.Marshal(summary{summaryVersion, held, r})
	if err == nil {
		err = maybe.WriteFile(g.summaryFile(run), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the summary of run %s: %w", run, err)
	}
	return nil
}

// conclude keeps the summary of a run that this process has carried out: with what its agents told last.
func (g *globals) conclude(ctx context.Context, b *bus.Bus, end *run.State) {
	if end == nil || !end.Status.Ended() {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	st, err := conductor.Fold(ctx, b, end.Spec.Run)
	if err != nil {
		g.log.Info().Err(err).Str("run", end.Spec.Run).Msg("no summary is kept")
		return
	}
	g.summarise(st)
}
