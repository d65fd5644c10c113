package client

import (
	"encoding/json"

	"divisi/orchestrator/view/advice"
)

// Result is how a run stands.
type Result struct {
	State      string   // done, parked, stopped, cancelled, or what it was when its process ended
	Reason     string   // of the state
	Repo, Ref  string   // the repository and its new branch; Ref is "" for none
	Base, Head string   // the commits that the run started from and that it has come to
	Unverified string   // why nothing that landed is proven; "" when it is
	Missing    string   // which tasks of those that landed cannot be found any more, of Publish; "" for none
	Ended      bool     // which a run that was resumed or killed has not
	Changes    []Change // of the branch against Base, by path; of a run that this process executed, or Publish
	Proposals  int      // notes of this run for the repository's memory that wait for a person
	Notices    []string // of a recording or a replay
	Next       []Way    // the most useful first
	Report     json.RawMessage
}

// Propose adds a number of notes that wait for a person.
func (r *Result) Propose(notes int) {
	if r.Proposals = notes; notes > 0 {
		r.Next = append(r.Next, advice.Remember(r.Repo, notes))
	}
}

// Way is a command of the program divisi, without its global flags, that continues a run or uses its result, and what it is for.
type Way = advice.Way

// Change is how many lines of a file changed.
type Change struct {
	Path           string
	Added, Deleted int
}
