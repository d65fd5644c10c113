package spec

import (
	"fmt"
	"slices"
)

// ByFinding is the shard rule whose shards are the findings of the gate that its template mends, anew in each round.
const ByFinding = "finding"

// DefaultRounds is how many rounds a template by finding has at most.
const DefaultRounds = 8

// Fixer is one way to fix the findings of a template.
type Fixer struct {
	Role    string   `json:"role,omitempty" jsonschema:"Who fixes. Default: the task's role."`
	Command []string `json:"command,omitempty" jsonschema:"Program and arguments, for roles that run a command."`
	Whole   bool     `json:"whole,omitempty" jsonschema:"One task for the whole tree, for a tool that finds its files itself."`
}

// ByFindings reports whether the task is a template whose shards are findings.
func (t *Task) ByFindings() bool { return t.Shard != nil && t.Shard.By == ByFinding }

// InRound reports whether the task is one of a round.
func (t *Task) InRound() bool { return t.Rule != nil && t.Rule.Round > 0 }

// Ways are the fixers of a template by finding in their order: those that it lists, else its own role and command.
func (t *Task) Ways() []Fixer {
	if len(t.Fixers) == 0 {
		return []Fixer{{Role: t.Role, Command: t.Command}}
	}
	ways := slices.Clone(t.Fixers)
	for i := range ways {
		if ways[i].Role == "" {
			ways[i].Role = t.Role
		}
	}
	return ways
}

// rounds faults a template by finding without one gate that has its findings, and what no round of it uses.
func (v *planCheck) rounds(at string, t *Task, role *Role, known bool) {
	if !t.ByFindings() {
		v.roundless(at, t)
		return
	}
	s, mends := t.Shard, t.Mends
	if len(mends) == 0 {
		mends = v.mendsAll
	}
	if len(mends) != 1 {
		v.addf(at+".mends", "", "a shard rule by finding takes its shards from what one gate finds: name it in mends, not %d",
			len(mends))
	}
	if known && !role.ChangesFiles() {
		v.addf(at+".role", "", "the shards of a rule by finding fix findings, and role %q writes no files", t.Role)
	}
	for _, one := range []struct {
		set        bool
		field, why string
	}{
		{s.Match != "", ".shard.match", "the findings of the gate select the files: leave match out, or write a glob"},
		{s.MaxTokens > 0, ".shard.max_tokens", "max_tokens has no effect on a rule by finding: write max_files"},
		{t.Set() != "", ".change_set", "the tasks of a round are tested together already: leave together and change_set out"},
		{t.Canary > 0, ".canary", "the tasks of a round are tested together: none of them runs first"},
	} {
		if one.set {
			v.addf(at+one.field, "", "%s", one.why)
		}
	}
	for i := range t.Fixers {
		v.fixer(fmt.Sprintf("%s.fixers[%d]", at, i), t, &t.Fixers[i])
	}
}

// roundless faults fields that only a rule by finding uses.
func (v *planCheck) roundless(at string, t *Task) {
	const only = "%s belongs to a task with shard: {by: finding}"
	if t.Shard != nil && t.Shard.Group != "" {
		v.addf(at+".shard.group", "", only, "group")
	}
	if t.Shard != nil && t.Shard.Rounds > 0 {
		v.addf(at+".shard.rounds", "", only, "rounds")
	}
	if len(t.Fixers) > 0 {
		v.addf(at+".fixers", "", only, "fixers")
	}
}

func (v *planCheck) fixer(at string, t *Task, f *Fixer) {
	v.argv(at+".command", f.Command)
	name := f.Role
	if name == "" {
		name = t.Role
	}
	role, known := v.env.Roles[name]
	switch {
	case !known && f.Role != "":
		v.known(at+".role", "role", f.Role, v.roles)
	case !known:
	case !role.ChangesFiles():
		v.addf(at+".role", "", "a fixer changes files, and role %q writes none", name)
	case !role.Runs(ExecutorCommand) && len(f.Command) > 0:
		v.addf(at+".command", "", "role %q runs no command, so command has no effect", name)
	case role.Executor == ExecutorCommand && len(role.Command) == 0 && len(f.Command) == 0:
		v.addf(at+".command", "", "role %q runs a command: say which", name)
	case len(role.Secrets) > 0 && len(f.Command) > 0:
		v.addf(at+".command", "", "role %q has secrets, which are for its own command alone: leave command out", name)
	case f.Whole && slices.Contains(f.Command, ArgFiles):
		v.addf(at+".command", "", "a fixer with whole: true has no files: leave %s out", ArgFiles)
	default:
		v.placeholders(at+".command", f.Command, role.Each)
	}
}
