package view

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/landing"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Unlike is an edit that has landed and that no other shard of its template makes.
type Unlike struct {
	Task string `json:"task"`
	run.Unlike

	// How is why it landed.
	How string `json:"how"`
}

// String is the edit in a line, with a usual one.
func (u Unlike) String() string {
	return fmt.Sprintf("%s: %s (%s)", u.Task, landing.UnlikeIn(u.Unlike), u.How)
}

// unlikeOthers lists the landed edits that no other shard of their templates makes, in plan order.
func unlikeOthers(s *run.State) (out []Unlike) {
	for _, id := range s.Tasks.Order {
		t := s.Tasks.ByID[id]
		if t.State != run.TaskLanded {
			continue
		}
		for _, d := range t.AllowedUnlike() {
			for _, u := range d.Unlike {
				out = append(out, Unlike{id, u, "accepted by " + wire.Speaker(d.Answer.By)})
			}
		}
		for _, u := range s.Unlike[id] {
			out = append(out, Unlike{id, u, "it landed before the other shards were there to compare"})
		}
	}
	return out
}

// maxUnlike bounds the edits that a display lists and that no other shard makes.
const maxUnlike = 10

// UnlikeLines are the first of these edits, a line each.
func UnlikeLines(s *State) []string { return text.Few(text.Each(unlikeOthers(s)), maxUnlike) }
