package phase

import (
	"fmt"

	"divisi/internal/text"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
)

// Matter is what only a person can decide. The rest of the run goes on meanwhile.
type Matter struct {
	// ID is the same each time the matter is listed, and no other's.
	ID string
	// To is what an answer names: a task or a template, "" for the master.
	To string
	// For is what the run waits for, and Ways what a person types.
	For, Ways string
	// Patches are the tasks whose newest patches it is about.
	Patches []string
	// Accepts reports that the person can accept something; else only words are an answer.
	Accepts bool
}

// Matters are the open ones: questions first, then held patches, then held templates, each oldest first.
func Matters(s *run.State) (out []Matter) {
	id := s.Spec.Run
	for _, q := range master.Questions(s) {
		m := Matter{ID: q.ID, For: "an answer to " + q.Agent() + ": " + text.Line(q.Question), Ways: "answer: divisi send " + id}
		if q.Of != run.MasterTask {
			m.To = q.AskedBy()
			m.Ways += "/" + m.To
		}
		m.Ways += ` "…"`
		out = append(out, m)
	}
	for _, t := range s.HeldFor() {
		out = append(out, patchMatter(s, t))
	}
	for _, h := range s.HoldsForPerson() {
		out = append(out, Matter{
			ID: fmt.Sprintf("%s@%d", h.Template, h.Pos), To: h.Template, Accepts: true,
			For: "a decision about the template " + h.Template + ": " + h.Why(), Ways: h.Ways(id),
		})
	}
	return out
}

// patchMatter is about a held patch; under review, about those of its whole change set.
func patchMatter(s *run.State, t *run.Task) Matter {
	name, at := t.Task.ID, s.Spec.Run+"/"+t.Task.ID
	m := Matter{
		ID: fmt.Sprintf("%s@%d", name, t.Doubt().Pos), To: name, Accepts: true, Patches: []string{name},
		For:  "a decision about the patch of " + name + ": " + text.Line(t.Doubt().Evidence[0]),
		Ways: fmt.Sprintf("see: divisi diff %s; then: divisi accept %s, or divisi send %s \"why not\"", at, at, at),
	}
	if set := s.Set(t); set != nil && t.Doubt().Review {
		m.For = "a decision about the change set " + set.Name + ": " + text.Line(t.Doubt().Evidence[0])
		m.Patches = nil
		for _, o := range set.Members {
			if o.Result != nil && o.Result.Patch != nil {
				m.Patches = append(m.Patches, o.Task.ID)
			}
		}
	}
	return m
}
