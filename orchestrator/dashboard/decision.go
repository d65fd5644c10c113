package dashboard

import "encoding/json"

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
}

// Patch is what a decision is about. Fault is why it cannot be shown.
type Patch struct {
	Task  string   `json:"task"`
	Files []string `json:"files,omitempty"`
	Diff  string   `json:"diff,omitempty"`
	Fault string   `json:"fault,omitempty"`
}
