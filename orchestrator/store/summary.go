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
	"divisi/orchestrator/forecast"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
	"divisi/orchestrator/view/stats"
)

// summaryVersion is that of the format of a summary. It changes with what a report has or means.
const summaryVersion = 12

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
	// Past are the tasks of the run, for the estimates of later ones.
	Past []forecast.Past `json:"past,omitempty"`
}

func (d Dir) summaryFile(id string) string { return filepath.Join(d.Run(id), "summary.json") }

// Summary returns the report of a run that has ended. It is false where none is kept, or the one that is kept does not count:
// what it says is in the log too.
func (d Dir) Summary(id string) (view.Report, bool) {
	s, ok := d.summaryOf(id)
	if !ok || s.Prices != model.TableID() {
		return s.Report, false
	}
	s.Report.Quotas = slices.DeleteFunc(s.Report.Quotas, func(q spec.Wait) bool { return !q.Until.After(time.Now()) })
	return s.Report, true
}

func (d Dir) summaryOf(id string) (s summary, ok bool) {
	held, err := bus.Taken(d.Bus(id))
	if err != nil {
		return s, false
	}
	data, err := os.ReadFile(d.summaryFile(id))
	return s, err == nil && json.Unmarshal(data, &s) == nil && s.Version == summaryVersion && s.Held.Equal(held) &&
		s.Report.Run == id && s.Report.State.Ended()
}

// Habits are what tasks used, in money of today: those of the newest runs that worked on a repository, else those on others.
func (d Dir) Habits(project *spec.Project, repo string) []forecast.Habit {
	ids, err := d.IDs()
	if err != nil {
		d.Log.Info().Err(err).Msg("the usage of earlier runs is not known")
		return nil
	}
	var own, others []forecast.Past
	for runs := 0; runs < maxEarlier && len(ids) > 0; ids = ids[1:] {
		s, ok := d.summaryOf(ids[0])
		switch {
		case !ok || len(s.Past) == 0:
		case s.Report.Repo == repo:
			own = append(own, s.Past...)
			runs++
		case len(others) < maxOthers:
			others = append(others, s.Past...)
		}
	}
	if len(own) == 0 {
		own = others
	}
	for i := range own {
		p := &own[i]
		if price, known := model.PriceOf(project, model.RowOf(project, time.Now(), p.Model)); known && p.Model != "" {
			p.Cost, p.Unpriced = price.Cost(p.Usage, ""), 0
		}
	}
	return forecast.Learn(own)
}

// maxOthers bounds the tasks of other repositories that are learned from.
const maxOthers = 1000

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
	s := summary{summaryVersion, held, model.TableID(), view.Of(st), stats.PastOf(&st.Agenda, st.Works)}
	if err := d.writeSummary(s); err != nil {
		d.Log.Info().Err(err).Str("run", st.Spec.Run).Msg("no summary is kept")
	}
}

func (d Dir) writeSummary(s summary) error {
	data, err := json.Marshal(s)
	if err == nil {
		err = maybe.WriteFile(d.summaryFile(s.Report.Run), append(data, '\n'), 0o600)
	}
	if err != nil {
		return fmt.Errorf("write the summary of run %s: %w", s.Report.Run, err)
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
