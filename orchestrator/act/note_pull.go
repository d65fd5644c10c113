package act

import "divisi/orchestrator/run"

// NotePull notes in the log what is about to be written to a forge for a pull request, or what the forge answered.
type NotePull struct {
	Pull run.PullData `json:"-"`
}

func (n *NotePull) with() any { return &n.Pull }

// Act implements Args.
func (NotePull) Act() string { return "note_pull" }

var _ = define(Entry{
	Help: "Note in the log of a run what is about to be written to a forge, or what it answered.",
	Who:  Local | Owner, On: Running | AtRest | Ended, Doors: Inside,
}, func(_ *run.State, a NotePull, _ string) ([]run.Action, string, error) {
	return []run.Action{run.Append{Data: a.Pull}}, "", nil
})
