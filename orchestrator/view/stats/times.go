// Package stats computes the figures of a run. Its input is the state of the run; its output is phases, costs, the parts of the
// wall clock along the critical path, and the least duration of the plan. It words times alone.
package stats

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Times are where the time of a run went.
type Times struct {
	// WallSeconds is the wall clock since the run was created, without the time in which no process held it. Parts are what its
	// critical path went to: they sum up to it. Path are the longest attempts on it, in their order.
	WallSeconds float64     `json:"wall_seconds"`
	Parts       []PhaseTime `json:"parts"`
	Path        []PathStep  `json:"path,omitempty"`
	// FloorSeconds is the least duration of the plan, by the times of models, commands and gates: along its longest chain.
	FloorSeconds float64 `json:"floor_seconds"`
	// Sums add up agents that worked at the same time, of what has ended.
	Sums []PhaseTime `json:"sums"`
}

// PhaseTime is the duration of one phase or part.
type PhaseTime struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`
}

// TimesOf returns the times of a run at its end, or by its newest event.
func TimesOf(s *run.State) Times {
	end := s.Ended
	if end.IsZero() {
		end = s.Time
	}
	return TimesAt(s, end)
}

// maxPath bounds the attempts that a report names.
const maxPath = 16

// TimesAt returns the times of a run up to a time.
func TimesAt(s *run.State, end time.Time) Times {
	wall := max(0, s.Times.Clock(end))
	c := accountOf(s, wall)
	t := Times{WallSeconds: wall.Seconds(), Path: longest(c.path), FloorSeconds: floorOf(s).Seconds()}
	for p, took := range c.spent {
		t.Parts = append(t.Parts, PhaseTime{partNames[p], took.Seconds()})
	}
	for a, name := range [...]string{run.Models: "model", run.Slots: "slots", run.Tools: "tools", run.Gates: "gates"} {
		t.Sums = append(t.Sums, PhaseTime{name, s.Times.Sums[a].Seconds()})
	}
	t.Sums = append(t.Sums, PhaseTime{"waiting", s.Times.Waited.Seconds()})
	return t
}

// longest are the longest steps of a path, in their order.
func longest(path []PathStep) []PathStep {
	if len(path) <= maxPath {
		return path
	}
	by := slices.SortedFunc(slices.Values(path), func(x, y PathStep) int { return cmp.Compare(y.Seconds, x.Seconds) })
	least := by[maxPath-1].Seconds
	path = slices.DeleteFunc(path, func(p PathStep) bool { return p.Seconds < least })
	return path[:min(len(path), maxPath)]
}

// Span writes the wall clock of the run.
func (t Times) Span() string { return text.Span(seconds(t.WallSeconds)) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Wall writes the parts of the critical path: parts of less than half a percent are left out.
func (t Times) Wall() string {
	var words []string
	for _, p := range t.Parts {
		if p.Seconds >= t.WallSeconds/200 && p.Seconds > 0 {
			words = append(words, p.Phase+" "+tenths(p.Seconds))
		}
	}
	return strings.Join(words, ", ")
}

// Sum writes the durations of the phases with parallel agents added up.
func (t Times) Sum() string {
	var words []string
	for _, p := range t.Sums {
		words = append(words, p.Phase+" "+text.Span(seconds(p.Seconds)))
	}
	return strings.Join(words, ", ")
}

// tenths writes seconds, short ones with a tenth.
func tenths(s float64) string {
	if s < 9.95 {
		return fmt.Sprintf("%.1fs", s)
	}
	return text.Span(seconds(s))
}
