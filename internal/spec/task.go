// Package spec holds the contracts that every room shares as plain data: task, plan, role, result, handoff, receipt and
// project file. Its input are values of these types, its output defaults, schemas, and all errors of a value at once. It
// never does I/O and imports no other room.
package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"time"
)

// IncludeContents reports how much upstream context a task inherits.
type IncludeContents string

// The two scopes of a slice.
const (
	IncludeNone IncludeContents = "none"
	IncludeFull IncludeContents = "full"
)

// Limits bound one attempt. Zero means the role's or the project's default.
type Limits struct {
	Turns     int      `json:"turns,omitempty" jsonschema:"Model calls."`
	Tokens    int      `json:"tokens,omitempty" jsonschema:"Prompt and output tokens, summed."`
	ToolCalls int      `json:"tool_calls,omitempty" jsonschema:"Tool calls."`
	Time      Duration `json:"time,omitzero" jsonschema:"Wall clock, e.g. 30m."`
	Idle      Duration `json:"idle,omitzero" jsonschema:"Longest time without a sign of life of model or tool."`
	Call      Duration `json:"call,omitzero" jsonschema:"One model call."`
	Tool      Duration `json:"tool,omitzero" jsonschema:"One tool call."`
}

// Shard is the rule by which code, not a model, expands a template into tasks.
type Shard struct {
	By string `json:"by" enum:"file,dir,package,owner,command,finding" jsonschema:"What one task gets: a file, a directory, a package, files of one owner in CODEOWNERS, a line that command prints, or findings of the gate in mends."`
	// Match that is empty matches every file; an empty Glob means every tracked file.
	Match     string   `json:"match,omitempty" jsonschema:"RE2 expression that a file's content must match."`
	Glob      string   `json:"glob,omitempty" jsonschema:"Only files whose path matches, e.g. internal/**/*.go."`
	MaxFiles  int      `json:"max_files,omitempty" jsonschema:"At most this many files in one task."`
	MaxTokens int      `json:"max_tokens,omitempty" jsonschema:"Files of at most this many tokens (bytes/4) in one task; a larger file is alone."`
	Command   []string `json:"command,omitempty" jsonschema:"With by command: prints one shard a line, paths separated by spaces."`
	// Group that is empty is file, and Rounds that is 0 DefaultRounds.
	Group  string `json:"group,omitempty" enum:"file,package,symbol,code,owner" jsonschema:"With by finding: whose findings one task gets. Default file."`
	Rounds int    `json:"rounds,omitempty" jsonschema:"With by finding: at most this many rounds. Default 8."`
}

// ShardRule is the part of its rule that a task keeps. Set by code only.
type ShardRule struct {
	// Match is the rule's expression, which no file of the shard is to match after the task; "" for none.
	Match string `json:"match"`
	// Files are how many entries of the task's files, from the first, are the shard.
	Files int `json:"files"`
	// Matches and Bytes are what the shard held when it was made; 0 where that is not known.
	Matches int   `json:"matches,omitempty"`
	Bytes   int64 `json:"bytes,omitempty"`
	// Round is the round of a template by finding that the task belongs to, from 1; 0 for no such task. Findings are the
	// signatures of what it is to fix; none where that is all.
	Round    int      `json:"round,omitempty"`
	Findings []string `json:"findings,omitempty"`
}

// DefaultCanary is how many shards of a template models and coding agents work on before the gates have passed on one of them.
const DefaultCanary = 3

// RemainingOK is the value of Task.Remaining that allows a shard to match its rule after the task.
const RemainingOK = "ok"

// Task is one piece of work for one role; the same in a plan file, in the dispatch tool and on the wire.
type Task struct {
	ID          string   `json:"id" jsonschema:"Short unique id: letters, digits, - and _, no --."`
	Title       string   `json:"title,omitempty" jsonschema:"A few words for the people who watch."`
	Role        string   `json:"role" jsonschema:"Who does it, e.g. reader or generator."`
	Brief       string   `json:"brief" jsonschema:"Everything the agent must know to do the task: it sees nothing else of your conversation."`
	Constraints []string `json:"constraints,omitempty" jsonschema:"Rules for this task. Copied word for word; its agent reports of each whether it was kept."`
	Files       []string `json:"files,omitempty" jsonschema:"Write set: paths and globs that the task may change. Keep the write sets of tasks apart."`
	Inputs      []string `json:"inputs,omitzero" jsonschema:"What the agent gets: task for a task's whole handoff, task/artifact for that artifact of it alone. Default: depends_on."`
	DependsOn   []string `json:"depends_on,omitempty" jsonschema:"Ids of tasks that must be over before this one starts."`

	IncludeContents IncludeContents `json:"include_contents,omitempty" enum:"none,full" jsonschema:"none: decision record and handoffs. full: also your session and those of its inputs. Default none."`

	Last      int      `json:"last,omitempty" jsonschema:"With full: only the last N events."`
	MaxTokens int      `json:"max_tokens,omitempty" jsonschema:"With full: at most this many tokens, the oldest go first."`
	Gates     []string `json:"gates,omitempty" jsonschema:"Names of the project's gates to run. Default: all."`
	Mends     []string `json:"mends,omitempty" jsonschema:"Gates that are red on the base commit and that the task mends: it lands as better when fewer failures are left and none is new."`
	Through   []string `json:"through,omitempty" jsonschema:"Gates that are green on the base commit and may be red from this task on, until tasks that mend them have landed: a passage. All of it reaches the branch as one merge commit, or nothing of it."`
	// AllowSuppress counts for what a person plans alone: no agent allows itself to silence what it is to fix.
	AllowSuppress int      `json:"allow_suppress,omitempty" jsonschema:"With mends, in a plan file: how many times the patches of the task, or of all its shards together, may silence a checker without a question. Default 0."`
	Verify        string   `json:"verify,omitempty" jsonschema:"Role that judges the patch. Default reviewer where constraints hold."`
	Attempts      int      `json:"attempts,omitempty" jsonschema:"How often it is tried, 1 to 10. Default 5."`
	Limits        Limits   `json:"limits,omitzero" jsonschema:"Limits of one attempt; default the role's."`
	Shard         *Shard   `json:"shard,omitempty" jsonschema:"Makes the task a template: code expands it to one task per shard. Use it for many alike files."`
	Together      bool     `json:"together,omitempty" jsonschema:"With shard: the shards are right only together. They are tested as one and land as one, or none does."`
	Canary        int      `json:"canary,omitempty" jsonschema:"With shard, for a model or a coding agent: how many shards run before the gates have passed on one. Default 3."`
	ChangeSet     string   `json:"change_set,omitempty" jsonschema:"Name of a set of tasks that are right only together; the same on each of them."`
	Creates       []string `json:"creates,omitempty" jsonschema:"With shard: globs of new files that the shards may make, also as new names of their own files."`
	Remaining     string   `json:"remaining,omitempty" enum:"ok" jsonschema:"With shard.match: ok lets files match it after the task too. Default: the task fails then."`
	Command       []string `json:"command,omitempty" jsonschema:"Program and arguments, for roles that run a command."`
	Fixers        []Fixer  `json:"fixers,omitempty" jsonschema:"With shard by finding: who fixes, tried in this order. Default: role and command of the task."`
	// ShardOf names the template that this task was expanded from, and Rule is its rule. Set by code only.
	ShardOf string     `json:"shard_of,omitempty" file:"-"`
	Rule    *ShardRule `json:"rule,omitempty" file:"-"`
	// Unlocked are the entries of Files that a person or the master wrote and that unlock protected paths. Set by code only.
	Unlocked []string `json:"unlocked,omitempty" file:"-"`
}

// Plan is the content of a plan file and of a dispatch call.
type Plan struct {
	Goal           string   `json:"goal,omitempty" jsonschema:"What the whole plan is for, in one sentence."`
	DecisionRecord string   `json:"decision_record,omitempty" jsonschema:"Names, API shapes and style that every writer follows, decided once. Copied word for word."`
	Constraints    []string `json:"constraints,omitempty" jsonschema:"Rules that hold for every task. Copied word for word."`
	Mends          []string `json:"mends,omitempty" jsonschema:"Red gates that each task mends which has no mends of its own."`
	Tasks          []Task   `json:"tasks" jsonschema:"The tasks. Those that do not wait for each other run at the same time."`
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

// Handoff is the report of an agent: never its transcript.
type Handoff struct {
	Summary    string   `json:"summary"`
	Findings   []string `json:"findings,omitempty"`
	Deviations []string `json:"deviations,omitempty"`
	// Constraints say of each constraint of the task whether it was kept, in their order; none where the task has none.
	Constraints []ConstraintEcho `json:"constraints,omitempty"`
	Artifacts   []string         `json:"artifacts,omitempty"`
	// Output is the answer to the role's own output schema, verbatim.
	Output json.RawMessage `json:"output,omitempty"`
}

// ConstraintEcho is an agent's report about one constraint. It is a claim of the author, and a judgement of a tester.
type ConstraintEcho struct {
	// Text is the constraint, word for word.
	Text string `json:"text"`
	Kept bool   `json:"kept"`
	// Note gives the reason why it was broken, or how it can be seen that it was kept.
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
			if !slices.Contains(rules, rule) {
				rules = append(rules, rule)
			}
		}
	}
	return rules
}

// Usage is the cost of model calls, in tokens. Prompt includes Cached, which was read from the service's cache, Written, which
// was written to it, and ToolUse: what the service's own tools put into it. WrittenHour is the part of Written that is kept for
// an hour.
type Usage struct {
	Calls    int `json:"calls,omitempty"`
	Prompt   int `json:"prompt,omitempty"`
	Cached   int `json:"cached,omitempty"`
	Output   int `json:"output,omitempty"`
	Thoughts int `json:"thoughts,omitempty"`
	ToolUse  int `json:"tool_use,omitempty"`
	Written  int `json:"written,omitempty"`

	WrittenHour int `json:"written_hour,omitempty"`
}

// Total is prompt plus everything that is billed as output.
func (u Usage) Total() int { return u.Prompt + u.Output + u.Thoughts }

// Add returns the sum of both, each part of it at most MaxCount.
func (u Usage) Add(o Usage) Usage {
	return Usage{
		Calls: Plus(u.Calls, o.Calls), Prompt: Plus(u.Prompt, o.Prompt), Cached: Plus(u.Cached, o.Cached),
		Output: Plus(u.Output, o.Output), Thoughts: Plus(u.Thoughts, o.Thoughts), ToolUse: Plus(u.ToolUse, o.ToolUse),
		Written: Plus(u.Written, o.Written), WrittenHour: Plus(u.WrittenHour, o.WrittenHour),
	}
}

// Mean is the average of n usages whose sum it is.
func (u Usage) Mean(n int) Usage {
	return Usage{
		Calls: u.Calls / n, Prompt: u.Prompt / n, Cached: u.Cached / n, Output: u.Output / n, Thoughts: u.Thoughts / n,
		ToolUse: u.ToolUse / n, Written: u.Written / n, WrittenHour: u.WrittenHour / n,
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
	// Created are those that the base does not have.
	Created []string `json:"created,omitempty"`
	// Lost are those that it removes from ignored places, where a new name would have been left out: it has none for them.
	Lost []string `json:"lost,omitempty"`
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
	// Instruction is the text with which a person rejected the patch: the next attempt obeys it, before the brief.
	Instruction string `json:"instruction,omitempty"`
	// Signatures are the new failures, to recognise the same failure again.
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
	// Said are the last words of a coding agent.
	Said  string `json:"said,omitempty"`
	Usage Usage  `json:"usage,omitzero"`
	// Unmetered reports that a coding agent ran, and did not tell what it used.
	Unmetered bool   `json:"unmetered,omitempty"`
	Error     *Fault `json:"error,omitempty"`
	// HandedOver reports that the agent gave its task to another role, as it was granted.
	HandedOver bool `json:"handed_over,omitempty"`
	// LimitHit is the class of the limit that was reached before the agent handed its result in, such as limit_turns; the
	// result counts all the same.
	LimitHit string `json:"limit_hit,omitempty"`
	// Receipts are the gate runs of this attempt.
	Receipts []Receipt `json:"receipts,omitempty"`
	// Environment is the id of the environment that the gates ran in; empty for none. Derived are its places that hold what was
	// made from tracked files.
	Environment string   `json:"environment,omitempty"`
	Derived     []string `json:"derived,omitempty"`
	// Copies are the directories of the tree whose packages the environment has a copy of.
	Copies []string `json:"copies,omitempty"`
	// Plan is the argument of a dispatch call (role master).
	Plan *Plan `json:"plan,omitempty"`
	// Final reports that the master has nothing left to do.
	Final bool `json:"final,omitempty"`
	// Took is the wall clock of the attempt's last delivery.
	Took time.Duration `json:"took_ns,omitempty"`
	// Queued is how long that waited for cores until its work tree was ready, Slot how long the work tree took besides.
	Queued time.Duration `json:"queued_ns,omitempty"`
	Slot   time.Duration `json:"slot_ns,omitempty"`
	// Git is how long it took to make patches of the work tree and to store them.
	Git time.Duration `json:"git_ns,omitempty"`
	// Shared is set where one process made it and the results of other tasks.
	Shared *Shared `json:"shared,omitempty"`
}

// Shared is a process that ran for several tasks: First is the first of them, which names it, and Tasks how many they are.
type Shared struct {
	First string `json:"first"`
	Tasks int    `json:"tasks"`
}

// Duration is a time.Duration that is written as Go writes it ("10m", "1h30m") in YAML and JSON.
type Duration time.Duration

// Std returns the duration as the standard library's type.
func (d Duration) Std() time.Duration { return time.Duration(d) }

// String writes the duration as Go does.
func (d Duration) String() string { return time.Duration(d).String() }

// MarshalText implements encoding.TextMarshaler.
func (d Duration) MarshalText() ([]byte, error) { return []byte(d.String()), nil }

// UnmarshalText implements encoding.TextUnmarshaler; a negative duration is an error.
func (d *Duration) UnmarshalText(text []byte) error {
	v, err := time.ParseDuration(string(text))
	if err != nil {
		return fmt.Errorf("%q is not a duration such as 90s or 10m", text)
	}
	if v < 0 {
		return fmt.Errorf("%q is negative", text)
	}
	*d = Duration(v)
	return nil
}

// UnmarshalJSON takes the text form only.
func (d *Duration) UnmarshalJSON(data []byte) error {
	var s string
	if err := json.Unmarshal(data, &s); err != nil {
		return fmt.Errorf("%s is not a duration such as \"90s\" or \"10m\"", data)
	}
	return d.UnmarshalText([]byte(s))
}
