package orchestrator

import (
	"encoding/json"
)

// Decision is what must be decided before some of the work goes on: a plan, a question of an agent, a held patch or template.
type Decision struct {
	Run, ID  string          // an answer names the ID
	Kind     string          // plan, question, patch, test or template
	About    string          // the task or the template; "" for the run
	Attempt  int             // of the task; 0 where none is meant
	Text     string          // what is to be decided, in a line
	Evidence []string        // why, a sentence each; foreign text in it is quoted
	Choices  []string        // what an agent proposes as answers to its question
	Patches  []Patch         // what is to be judged; none where it is about no patch
	Plan     json.RawMessage `json:",omitempty"`
	Options  []Option
	Suggests string // the name of an option; "" for none
	Decider  string // policy, master or person; a person may always answer
	Why      string // it is theirs to decide
	Reserved bool   `json:",omitempty"` // a person answers it alone, and no program for that person
	Blocks   int    // tasks that wait for it
	Alike    string // the same for decisions that one answer may be for; "" for one that stands alone
}

// Option is a way to answer: what it Does ends a sentence that begins with its Name. NeedsText reports that it needs a text.
type Option struct {
	Name, Does string
	NeedsText  bool
}

// Choice is the answer to a decision: the name of an option and the text that it needs. Without an option it stays open.
type Choice struct {
	Option, Text string
	Task         string // whose patch is meant, where the decision is about several
	Alike        bool   // it also accepts each other patch of the run that is alike, held now or later
}

// Patch is what the newest attempt of a task has changed.
type Patch struct {
	Task  string
	Files []string
	Diff  string // as git prints it, text of the repository
	Fault string // why the patch cannot be shown; "" where it is
}
