package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/google/renameio/v2/maybe"

	"divisi/bus"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// summaryVersion is that of the format of a summary. It changes with what a report has or means.
const summaryVersion = 11

// concludeTime bounds how long the end of a run takes to keep its summary; the next command that reads the run keeps it too.
const concludeTime = 10 * time.Second

// summary is summary.json in a run's directory: how a run ended, for commands that would else read its log to find out. It
// counts while no process has taken the store since: Held is when it was taken by the process that read the log.
type summary struct {
	Version int       `json:"version"`
	Held    time.Time `json:"held"`
	// Prices is the table that the report's money was computed with.
	Prices string      `json:"prices"`
	Report view.Report `json:"report"`
}

func (d Dir) summaryFile(id string) string { return filepath.Join(d.Run(id), "summary.json") }

// Summary returns the report of a run that has ended. It is false where none is kept, or the one that is kept does not count:
// what it says is in the log too.
func (d Dir) Summary(id string) (view.Report, bool) {
	var s summary
	held, err := bus.Taken(d.Bus(id))
	if err != nil {
		return s.Report, false
	}
	data, err := os.ReadFile(d.summaryFile(id))
	if err != nil || json.Unmarshal(data, &s) != nil || s.Version != summaryVersion ||
		!s.Held.Equal(held) || s.Prices != model.TableID() ||
		s.Report.Run != id || !s.Report.State.Ended() {
		return s.Report, false
	}
	s.Report.Quotas = slices.DeleteFunc(s.Report.Quotas, func(q spec.Wait) bool { return !q.Until.After(time.Now()) })
	return s.Report, true
}

// maxEarlier bounds the earlier runs that are read to estimate the next one.
const maxEarlier = 20

// Earlier returns the reports the newest runs that worked on a repository and whose summary is kept, the newest first.
func (d Dir) Earlier(repo string) (out []view.Report) {
	ids, err := d.IDs()
	if err != nil {
		d.Log.Info().Err(err).Msg("the usage of earlier runs is not known")
		return nil
	}
	for _, id := range ids {
		if r, ok := d.Summary(id); ok && r.Repo == repo {
			if out = append(out, r); len(out) == maxEarlier {
				break
			}
		}
	}
	return out
}

// summarise keeps the report of a run that has ended, as the log had it while its store was taken at held or later. Without it
// commands read the log.
func (d Dir) summarise(st *run.State, held time.Time) {
	if !st.Status.Ended() || st.Wait.For != "" || len(st.Unread) > 0 {
		return
	}
	if err := d.writeSummary(view.Of(st), held); err != nil {
		d.Log.Info().Err(err).Str("run", st.Spec.Run).Msg("no summary is kept")
	}
}

func (d Dir) writeSummary(r view.Report, held time.Time) error {
	data, err := json.Marshal(summary{summaryVersion, held, model.TableID(), r})
	if err == nil {
		err = maybe.WriteFile(d.summaryFile(r.Run), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the summary of run %s: %w", r.Run, err)
	}
	return nil
}

// Conclude keeps the summary of a run that this process has executed, with what its agents appended last, and returns the
// state that has it; nil where the log cannot be read.
func (d Dir) Conclude(ctx context.Context, b *bus.Bus, id string) *run.State {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), concludeTime)
	defer cancel()
	st, err := eventlog.Fold(ctx, b, id)
	held, terr := bus.Taken(d.Bus(id))
	if err = errors.Join(err, terr); err != nil {
		d.Log.Info().Err(err).Str("run", id).Msg("no summary is kept")
		return st
	}
	d.summarise(st, held)
	return st
}
