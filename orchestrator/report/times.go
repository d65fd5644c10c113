package report

import (
	"strings"
	"time"

	"divisi/orchestrator/run"
)

// Times are how long the phases of a run's work took.
type Times struct {
	// WallSeconds is the wall clock since the run was created, without the time in which no process held it.
	WallSeconds float64     `json:"wall_seconds"`
	Phases      []PhaseTime `json:"phases"`
}

// PhaseTime is what one phase took. WallSeconds is the wall clock in which at least one agent or gate run was in it, so that
// phases overlap; of waiting it is the wall clock in which none was in another. SumSeconds adds up agents that ran at the same
// time.
type PhaseTime struct {
	Phase       string  `json:"phase"`
	WallSeconds float64 `json:"wall_seconds"`
	SumSeconds  float64 `json:"sum_seconds"`
}

// TimesOf returns the times of a run, of what had ended by its newest event.
func TimesOf(s *run.State) Times {
	end := s.Ended
	if end.IsZero() {
		end = s.Time
	}
	return timesOf(s, &s.Times, end)
}

func timesOf(s *run.State, t *run.Times, end time.Time) Times {
	wall := max(0, end.Sub(s.Spec.Created)-t.Down)
	var phases []PhaseTime
	for a, name := range [...]string{run.Models: "model", run.Slots: "slots", run.Tools: "tools", run.Gates: "gates"} {
		phases = append(phases, PhaseTime{name, t.Wall(run.Activity(a)).Seconds(), t.Sums[a].Seconds()})
	}
	phases = append(phases, PhaseTime{"waiting", max(0, wall-t.Busy()).Seconds(), t.Waited.Seconds()})
	return Times{wall.Seconds(), phases}
}

// Span writes the wall clock of the run.
func (t Times) Span() string { return Span(seconds(t.WallSeconds)) }

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// Wall writes the wall clock of the phases: of those before the semicolon, which overlap, and of the time in none of them.
func (t Times) Wall() string {
	all := t.list(func(p PhaseTime) float64 { return p.WallSeconds })
	last := len(all) - 1
	return strings.Join(all[:last], ", ") + "; " + all[last]
}

// Sum writes what the phases took with parallel agents added up.
func (t Times) Sum() string {
	return strings.Join(t.list(func(p PhaseTime) float64 { return p.SumSeconds }), ", ")
}

func (t Times) list(of func(PhaseTime) float64) []string {
	parts := make([]string, 0, len(t.Phases))
	for _, p := range t.Phases {
		parts = append(parts, p.Phase+" "+Span(seconds(of(p))))
	}
	return parts
}
