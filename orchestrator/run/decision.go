package run

// Decision is what the policy of the run, the master or a person must decide before some of the work goes on. The rest of the run
// goes on meanwhile.
type Decision struct {
	// ID is the same each time the decision is listed, and no other's.
	ID   string
	Kind DecisionKind
	// About is the task or the template; "" for the run, as a plan is. Attempt is the task's attempt; 0 where none is meant.
	About   string
	Attempt int
	// Text is what is to be decided, in a line; Evidence is why, a sentence each. Foreign text in them is quoted.
	Text     string
	Evidence []string
	// Choices are the answers that an agent proposes to its question.
	Choices []string
	// Patches are the tasks whose newest patches it is about; Plan is the index of a plan.
	Patches []string
	Plan    int
	Options []Option
	// Suggested is the name of the option that needs no attention to be safe; "" for none.
	Suggested string
	Decider   Decider
	// Blocks counts the tasks that wait for it.
	Blocks int
	// Pos is where in the log it began.
	Pos uint64
}

// DecisionKind is what a decision is about.
type DecisionKind string

// The kinds of decisions.
const (
	DecidePlan     DecisionKind = "plan"     // a plan of the master that writes
	DecideQuestion DecisionKind = "question" // of an agent
	DecidePatch    DecisionKind = "patch"    // a held one
	DecideTest     DecisionKind = "test"     // tests of the base commit do not run with a patch
	DecideTemplate DecisionKind = "template" // its shards fail alike
	DecideScope    DecisionKind = "scope"    // an agent asks to write protected files
)

// Option is a way to answer. Words reports that it needs a text.
type Option struct {
	Name string
	// Does is what follows, as the end of a sentence that begins with the option's name.
	Does  string
	Words bool
}

// Decider is who decides, and the reason.
type Decider struct{ Who, Why string }

// Who decides.
const (
	ByRule   = "policy"
	ByMaster = "master"
	ByPerson = "person"
)

// Answer is the answer to a decision: the name of an option, with the words that it needs. Attempt is the one that it was given
// for; 0 for whichever is the newest. Of is the task that is meant where the decision is about several patches.
type Answer struct {
	ID      string `json:"id"`
	Attempt int    `json:"attempt,omitempty"`
	Option  string `json:"option"`
	Text    string `json:"text,omitempty"`
	Of      string `json:"of,omitempty"`
	By      string `json:"by,omitempty"`
}
