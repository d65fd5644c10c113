package spec

import (
	"encoding/json"
	"time"
)

// IncludeContents says how much upstream context a task inherits.
type IncludeContents string

// The two scopes of a slice.
const (
	IncludeNone IncludeContents = "none"
	IncludeFull IncludeContents = "full"
)

// Limits bound one attempt. Zero means the role's or the project's default.
type Limits struct {
	// Turns is the number of model calls.
	Turns int `json:"turns,omitempty" yaml:"turns,omitempty"`
	// Tokens is prompt plus output tokens, summed over the attempt.
	Tokens int `json:"tokens,omitempty" yaml:"tokens,omitempty"`
	// Time is the wall clock of the attempt.
	Time Duration `json:"time,omitzero" yaml:"time,omitempty"`
	// Idle is how long a model's stream, or a tool, may show no sign of life.
	Idle Duration `json:"idle,omitzero" yaml:"idle,omitempty"`
	// Call bounds one model call, Tool one tool call.
	Call Duration `json:"call,omitzero" yaml:"call,omitempty"`
	Tool Duration `json:"tool,omitzero" yaml:"tool,omitempty"`
	// ToolCalls is the number of tool calls of the attempt.
	ToolCalls int `json:"tool_calls,omitempty" yaml:"tool_calls,omitempty"`
}

// Shard is the rule by which code, not a model, expands a template into tasks.
type Shard struct {
	// By is file, dir, package or command.
	By string `json:"by" yaml:"by"`
	// Match is an RE2 expression that the content of a file must match; empty matches every file.
	Match string `json:"match,omitempty" yaml:"match,omitempty"`
	// Glob limits the files by path (doublestar); empty means every tracked file.
	Glob string `json:"glob,omitempty" yaml:"glob,omitempty"`
	// MaxFiles bounds the files of one shard; zero means no bound.
	MaxFiles int `json:"max_files,omitempty" yaml:"max_files,omitempty"`
	// Command prints the shards, one a line, paths separated by spaces (by: command).
	Command []string `json:"command,omitempty" yaml:"command,omitempty"`
	// IncludeProtected lets the shards change the protected files that the rule finds; else those are left out.
	IncludeProtected bool `json:"include_protected,omitempty" yaml:"include_protected,omitempty"`
}

// ShardRule is what a task keeps of the rule that it comes from. Set by code only.
type ShardRule struct {
	// Match is the rule's expression, which no file of the shard is to match after the task; "" for none.
	Match string `json:"match"`
	// Files are how many entries of the task's files, from the first, are the shard.
	Files int `json:"files"`
}

// RemainingOK is the value of Task.Remaining that allows a shard to match its rule after the task.
const RemainingOK = "ok"

// Task is one piece of work for one role; the same in a plan file, in the dispatch tool and on the wire.
type Task struct {
	ID              string          `json:"id" yaml:"id"`
	Title           string          `json:"title,omitempty" yaml:"title,omitempty"`
	Role            string          `json:"role" yaml:"role"`
	Brief           string          `json:"brief" yaml:"brief"`
	Constraints     []string        `json:"constraints,omitempty" yaml:"constraints,omitempty"`
	Files           []string        `json:"files,omitempty" yaml:"files,omitempty"`
	Inputs          []string        `json:"inputs,omitempty" yaml:"inputs,omitempty"`
	DependsOn       []string        `json:"depends_on,omitempty" yaml:"depends_on,omitempty"`
	IncludeContents IncludeContents `json:"include_contents,omitempty" yaml:"include_contents,omitempty"`
	Last            int             `json:"last,omitempty" yaml:"last,omitempty"`
	MaxTokens       int             `json:"max_tokens,omitempty" yaml:"max_tokens,omitempty"`
	// Gates names the project's gates to run; empty means all of them.
	Gates    []string `json:"gates,omitempty" yaml:"gates,omitempty"`
	Verify   string   `json:"verify,omitempty" yaml:"verify,omitempty"`
	Attempts int      `json:"attempts,omitempty" yaml:"attempts,omitempty"`
	Limits   Limits   `json:"limits,omitzero" yaml:"limits,omitempty"`
	Shard    *Shard   `json:"shard,omitempty" yaml:"shard,omitempty"`
	// Command overrides the role's command for executor command.
	Command []string `json:"command,omitempty" yaml:"command,omitempty"`
	// Remaining is RemainingOK where files of the shard may still match the rule's expression after the task.
	Remaining string `json:"remaining,omitempty" yaml:"remaining,omitempty"`
	// ShardOf names the template that this task was expanded from, and Rule is its rule. Set by code only.
	ShardOf string     `json:"shard_of,omitempty" yaml:"-"`
	Rule    *ShardRule `json:"rule,omitempty" yaml:"-"`
	// Unlocked are the entries of Files that a person or the master chose and that unlock protected paths. Set by code only.
	Unlocked []string `json:"unlocked,omitempty" yaml:"-"`
}

// Plan is what a plan file holds and what the dispatch tool takes.
type Plan struct {
	Goal string `json:"goal,omitempty" yaml:"goal,omitempty"`
	// DecisionRecord goes verbatim to every writer.
	DecisionRecord string `json:"decision_record,omitempty" yaml:"decision_record,omitempty"`
	// Constraints hold for every task of the plan, verbatim.
	Constraints []string `json:"constraints,omitempty" yaml:"constraints,omitempty"`
	Tasks       []Task   `json:"tasks" yaml:"tasks"`
}

// Status is how an attempt ended.
type Status string

// The ends of an attempt.
const (
	StatusDone      Status = "done"
	StatusFailed    Status = "failed"
	StatusBlocked   Status = "blocked"
	StatusTimedOut  Status = "timed_out"
	StatusCancelled Status = "cancelled"
)

// Handoff is what an agent gives back: never its transcript.
type Handoff struct {
	Summary    string   `json:"summary"`
	Findings   []string `json:"findings,omitempty"`
	Deviations []string `json:"deviations,omitempty"`
	// Constraints say of each constraint of the task whether it was kept, in their order; none where the task has none.
	Constraints []ConstraintEcho `json:"constraints,omitempty"`
	Artifacts   []string         `json:"artifacts,omitempty"`
	// Output is what the role's own output schema asked for, verbatim.
	Output json.RawMessage `json:"output,omitempty"`
}

// ConstraintEcho is what an agent says of one constraint. It is a claim of the author, and a judgement of a tester.
type ConstraintEcho struct {
	// Text is the constraint, word for word.
	Text string `json:"text"`
	Kept bool   `json:"kept"`
	// Note says why it was broken, or how it can be seen that it was kept.
	Note string `json:"note,omitempty"`
}

// Broken returns the constraints that were not kept.
func (h *Handoff) Broken() []ConstraintEcho {
	var broken []ConstraintEcho
	for _, c := range h.Constraints {
		if !c.Kept {
			broken = append(broken, c)
		}
	}
	return broken
}

// Rules joins lists of constraints, each constraint once, where it stands first. Briefs and echoes number them in this order,
// from 1.
func Rules(lists ...[]string) []string {
	var rules []string
	for _, list := range lists {
		for _, rule := range list {
			if !contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// Usage is what model calls cost, in tokens. Prompt includes Cached.
type Usage struct {
	Calls    int `json:"calls,omitempty"`
	Prompt   int `json:"prompt,omitempty"`
	Cached   int `json:"cached,omitempty"`
	Output   int `json:"output,omitempty"`
	Thoughts int `json:"thoughts,omitempty"`
}

// Total is prompt plus everything that is billed as output.
func (u Usage) Total() int { return u.Prompt + u.Output + u.Thoughts }

// Add returns the sum of both.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Calls: u.Calls + o.Calls, Prompt: u.Prompt + o.Prompt, Cached: u.Cached + o.Cached,
		Output: u.Output + o.Output, Thoughts: u.Thoughts + o.Thoughts,
	}
}

// Patch is one commit, sent as a thin pack that is named by its id.
type Patch struct {
	// Commit is the commit's id; Base its only parent, Tree its tree.
	Commit string `json:"commit"`
	Base   string `json:"base"`
	Tree   string `json:"tree"`
	// Pack is the object-store name of the thin pack; empty when the commit changes nothing.
	Pack  string   `json:"pack,omitempty"`
	Files []string `json:"files,omitempty"`
	// Added and Deleted count lines.
	Added   int `json:"added,omitempty"`
	Deleted int `json:"deleted,omitempty"`
}

// Fault is an error as data: its class decides behaviour, its message is for people.
type Fault struct {
	// Class is a closed word such as gate, conflict, limit_turns, limit_tokens, limit_time, loop, model_auth,
	// model_blocked, no_result, write_set, remaining, tests, budget, command, internal.
	Class   string `json:"class"`
	Message string `json:"message"`
	// Detail is the longer text that the next attempt is given, already bounded.
	Detail string `json:"detail,omitempty"`
	// Signatures are what was newly red, so that the same failure can be known again.
	Signatures []string `json:"signatures,omitempty"`
	// Output is the object-store name of the whole output that shows it; empty for none.
	Output string `json:"output,omitempty"`
}

// Result is how one attempt ended. At most one per attempt enters the log.
type Result struct {
	Task     string  `json:"task"`
	Attempt  int     `json:"attempt"`
	Delivery int     `json:"delivery"`
	Status   Status  `json:"status"`
	Handoff  Handoff `json:"handoff,omitzero"`
	Patch    *Patch  `json:"patch,omitempty"`
	Usage    Usage   `json:"usage,omitzero"`
	Error    *Fault  `json:"error,omitempty"`
	// HandedOver says that the agent gave its task to another role, as it was granted.
	HandedOver bool `json:"handed_over,omitempty"`
	// LimitHit is the class of the limit that was reached before the agent handed its result in, such as limit_turns; the
	// result counts all the same.
	LimitHit string `json:"limit_hit,omitempty"`
	// Receipts are the gate runs of this attempt.
	Receipts []Receipt `json:"receipts,omitempty"`
	// Plan is what a call of dispatch asked for (role master).
	Plan *Plan `json:"plan,omitempty"`
	// Final says that the master has nothing left to do.
	Final bool `json:"final,omitempty"`
	// Took is the wall clock of the attempt's last delivery.
	Took time.Duration `json:"took_ns,omitempty"`
}

// Receipt is what one gate run left. Signatures are sorted and unique.
type Receipt struct {
	Gate     string   `json:"gate"`
	Command  []string `json:"command"`
	ExitCode int      `json:"exit_code"`
	// Tree is the git tree id that the gate ran on.
	Tree       string        `json:"tree"`
	Signatures []string      `json:"signatures,omitempty"`
	Duration   time.Duration `json:"duration_ns"`
	// Build says that the failure is a build failure, which hides tests.
	Build bool `json:"build,omitempty"`
	// Tests is the number of tests that ran, where the gate speaks a format that tells.
	Tests int `json:"tests,omitempty"`
	// Verdict is pass, baseline (red, but no redder than the baseline), fail or unattributable.
	Verdict string `json:"verdict"`
	// Tail is the end of the output, bounded; Output the object-store name of all of it.
	Tail   string `json:"tail,omitempty"`
	Output string `json:"output,omitempty"`
	// TimedOut says that the gate was killed at its deadline.
	TimedOut bool `json:"timed_out,omitempty"`
}

// The verdicts of a receipt.
const (
	VerdictPass           = "pass"
	VerdictBaseline       = "baseline"
	VerdictFail           = "fail"
	VerdictUnattributable = "unattributable"
)
