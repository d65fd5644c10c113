package dashboard

import (
	"encoding/json"

	"divisi/orchestrator/run"
)

// Need is a decision that is open, as the list of all of them has it.
type Need struct {
	Run     string `json:"run"`
	ID      string `json:"id"`
	Kind    string `json:"kind"`
	About   string `json:"about,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Text    string `json:"text"`
	// Blocks counts the tasks that wait for it, Since is when it began.
	Blocks int   `json:"blocks"`
	Since  int64 `json:"since"`
	// Alike is the same for decisions that one answer may be for; "" for one that stands alone.
	Alike    string   `json:"alike,omitempty"`
	Suggests string   `json:"suggests,omitempty"`
	Decider  string   `json:"decider"`
	Why      string   `json:"why,omitempty"`
	Options  []Option `json:"options"`
	Choices  []string `json:"choices,omitempty"`
	Tasks    []string `json:"tasks,omitempty"`
	Files    []string `json:"files,omitempty"`
	Evidence []string `json:"evidence,omitempty"`
	// Template is the one that the task is a shard of; Added and Deleted count the lines of its patches.
	Template string `json:"template,omitempty"`
	Added    int    `json:"added,omitempty"`
	Deleted  int    `json:"deleted,omitempty"`
	// Reserved reports that a person answers it alone, and no program for that person.
	Reserved bool `json:"reserved,omitempty"`
}

// Option is a way to answer a decision.
type Option struct {
	Name      string `json:"name"`
	Does      string `json:"does"`
	NeedsText bool   `json:"needs_text,omitempty"`
}

// Decision is a Need with all that it is about.
type Decision struct {
	Need

	Patches []Patch         `json:"patches,omitempty"`
	Plan    json.RawMessage `json:"plan,omitempty"`
	// Brief is that of the task, Record the decision record of its plan, and Before what was decided about its earlier patches.
	Brief  string `json:"brief,omitempty"`
	Record string `json:"record,omitempty"`
	Before []Said `json:"before,omitempty"`
}

// Said is what was decided about the patch of an attempt.
type Said struct {
	Attempt int    `json:"attempt"`
	Option  string `json:"option"`
	Text    string `json:"text,omitempty"`
	By      string `json:"by,omitempty"`
}

// Patch is what a decision is about. Fault is why it cannot be shown.
type Patch struct {
	Task  string   `json:"task"`
	Files []string `json:"files,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	Fault string   `json:"fault,omitempty"`
}

// count adds what the results of the tasks tell of the patches.
func (n *Need) count(s *run.State, d *run.Decision) {
	if t := s.Tasks.ByID[d.About]; t != nil {
		n.Template = t.Task.ShardOf
	}
	for _, id := range d.Patches {
		if t := s.Tasks.ByID[id]; t != nil && t.Result != nil && t.Result.Patch != nil {
			n.Added, n.Deleted = n.Added+t.Result.Patch.Added, n.Deleted+t.Result.Patch.Deleted
		}
	}
}

// recall adds what the task was told, and what was decided about it before.
func (d *Decision) recall(s *run.State) {
	t := s.Tasks.ByID[d.About]
	if t == nil {
		return
	}
	d.Brief = t.Task.Brief
	if t.Plan < len(s.Plans.All) {
		d.Record = s.Plans.All[t.Plan].DecisionRecord
	}
	for _, b := range t.Doubts {
		if a := b.Answer; a != nil && b.Attempt < d.Attempt {
			d.Before = append(d.Before, Said{b.Attempt, a.Option, a.Text, a.By})
		}
	}
}
