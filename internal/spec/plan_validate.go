package spec

import (
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// The greatest sizes of a plan. They are far above what a person reads and keep one bad call from filling the log.
const (
	maxTasks    = 10_000
	maxAttempts = 10
	maxBrief    = 64 << 10
)

var (
	taskID   = lazyregexp.New(`^[A-Za-z0-9][A-Za-z0-9_-]{0,63}$`)
	shardEnd = lazyregexp.New(`^(.+)-[0-9]+$`)
)

// Validate returns every fault of the plan, in plan order; none means that it can run.
func (p *Plan) Validate(env Env) []Problem {
	v := &planCheck{
		env: env, templates: map[string]bool{}, first: map[string]int{}, existing: map[string]bool{}, mendsAll: p.Mends,
	}
	for i := range env.Tasks {
		v.existing[env.Tasks[i].ID] = true
		if t := env.Tasks[i].ShardOf; t != "" {
			v.existing[t] = true
		}
	}
	v.names(p)
	v.text("goal", p.Goal)
	v.text("decision_record", p.DecisionRecord)
	v.constraints("constraints", p.Constraints)
	v.gates("mends", p.Mends)
	switch {
	case len(p.Tasks) == 0:
		v.addf("tasks", "", "the plan has no tasks")
	case len(p.Tasks) > maxTasks:
		v.addf("tasks", "", "%d tasks are more than %d; use a task with a shard rule", len(p.Tasks), maxTasks)
		return v.list
	}
	for i := range p.Tasks {
		v.task(i, &p.Tasks[i])
	}
	v.changeSets(p)
	for _, circle := range Circles(p.Tasks) {
		v.addf(fmt.Sprintf("tasks[%d].depends_on", v.first[circle[0]]), "",
			"the tasks wait for each other in a circle: %s", strings.Join(circle, " -> "))
	}
	return v.list
}

// planCheck is one walk over a plan.
type planCheck struct {
	problems
	env Env
	// ids are all task ids that may be named, sorted; roles the role names.
	ids, roles []string
	// first maps an id to the index of the task that had it first; templates are the ids with a shard rule.
	first     map[string]int
	templates map[string]bool
	existing  map[string]bool
	// mendsAll are the gates that tasks without their own mend.
	mendsAll []string
}

func (v *planCheck) names(p *Plan) {
	for i := range p.Tasks {
		t := &p.Tasks[i]
		if _, twice := v.first[t.ID]; !twice {
			v.first[t.ID] = i
			v.ids = append(v.ids, t.ID)
		}
		if t.Shard != nil {
			v.templates[t.ID] = true
		}
	}
	for id := range v.existing {
		v.ids = append(v.ids, id)
	}
	slices.Sort(v.ids)
	v.ids = slices.Compact(v.ids)
	v.roles = slices.Sorted(maps.Keys(v.env.Roles))
}

func (v *planCheck) task(i int, t *Task) {
	at := fmt.Sprintf("tasks[%d]", i)
	v.id(at, i, t)
	role, known := v.role(at, t)
	if strings.TrimSpace(t.Brief) == "" {
		v.addf(at+".brief", "", "task %q has no brief: describe the work", t.ID)
	}
	if len(t.Brief) > maxBrief {
		v.addf(at+".brief", "", "the brief has %d bytes, more than %d", len(t.Brief), maxBrief)
	}
	v.text(at+".brief", t.Brief)
	v.text(at+".title", t.Title)
	v.constraints(at+".constraints", t.Constraints)
	v.files(at, t, role, known)
	v.edges(at, t)
	v.scope(at, t, role, known)
	v.verification(at, t)
	if t.Attempts > maxAttempts {
		v.addf(at+".attempts", "", "%d attempts are not between 1 and %d", t.Attempts, maxAttempts)
	}
	v.values(at, reflect.ValueOf(*t))
	v.shard(at+".shard", t.Shard)
	v.rounds(at, t, role, known)
	v.remaining(at+".remaining", t)
	v.creates(at+".creates", t, role, known)
	v.canary(at+".canary", t, role, known)
	v.changeSet(at, t)
	v.command(at, t, role, known)
}

func (v *planCheck) id(at string, i int, t *Task) {
	switch {
	case t.ID == "":
		v.addf(at+".id", "", "the task has no id")
	case !taskID.MatchString(t.ID):
		v.addf(at+".id", plainID(t.ID),
			"task id %q: an id is 1 to 64 letters, digits, - and _, and begins with a letter or digit", t.ID)
	case strings.Contains(t.ID, "--"):
		v.addf(at+".id", plainID(t.ID), "task id %q: -- is kept for tasks that Divisi adds itself", t.ID)
	case v.existing[t.ID]:
		v.addf(at+".id", "", "task id %q is taken: the run has such a task already", t.ID)
	case v.first[t.ID] != i:
		v.addf(at+".id", "", "task id %q is taken by tasks[%d]", t.ID, v.first[t.ID])
	case t.Shard != nil && len(t.ID) > 64-len("-00000"):
		v.addf(at+".id", "", "task id %q is too long for a template: its shards get a number behind it", t.ID)
	}
	if m := shardEnd.FindStringSubmatch(t.ID); m != nil && v.templates[m[1]] {
		v.addf(at+".id", "", "task id %q is one that the shards of template %q get", t.ID, m[1])
	}
}

var notIDRunes = lazyregexp.New(`[^A-Za-z0-9_]+`)

// plainID makes an id of what was written; empty where nothing is left.
func plainID(id string) string {
	plain := strings.Trim(notIDRunes.ReplaceAllString(id, "-"), "-_")
	if len(plain) > 64 {
		plain = strings.TrimRight(plain[:64], "-_")
	}
	return plain
}

func (v *planCheck) role(at string, t *Task) (*Role, bool) {
	switch t.Role {
	case "":
		v.addf(at+".role", "", "task %q has no role; there %s", t.ID, listNames(v.roles))
		return nil, false
	case RoleMaster:
		v.addf(at+".role", "", "the master plans and is not planned: give the task to another role")
		return nil, false
	case RoleTester:
		v.addf(at+".role", "", "every task with a patch gets a tester of its own: name it in verify, not as a task")
		return nil, false
	}
	role, ok := v.env.Roles[t.Role]
	if !ok {
		v.known(at+".role", "role", t.Role, v.roles)
	}
	return &role, ok
}

func (v *planCheck) constraints(at string, list []string) {
	for i, c := range list {
		path := fmt.Sprintf("%s[%d]", at, i)
		if strings.TrimSpace(c) == "" {
			v.addf(path, "", "the constraint is empty")
		}
		v.text(path, c)
	}
}

func (v *planCheck) files(at string, t *Task, role *Role, known bool) {
	for i, entry := range t.Files {
		if problem, instead := globProblem(entry); problem != "" {
			v.addf(fmt.Sprintf("%s.files[%d]", at, i), instead, "%q: %s", entry, problem)
		}
	}
	switch {
	case len(t.Files) == 0:
	case t.Shard != nil && t.Shard.By == "command":
		v.addf(at+".files", "", "the command of the shard rule prints which files each task has: leave files out")
	case t.Shard != nil && len(t.Files) == 1:
		v.addf(at+".files", "", "the shard rule says which files each task has: write glob: %q in shard instead of files",
			t.Files[0])
	case t.Shard != nil:
		v.addf(at+".files", "", "the shard rule says which files each task has: write a glob in shard instead of files, "+
			"or one task with a shard rule for each of these entries")
	case known && !role.Writes:
		v.addf(at+".files", "", "role %q writes nothing, and files is a write set: name the files in the brief", t.Role)
	}
}

func (v *planCheck) edges(at string, t *Task) {
	for i, id := range t.DependsOn {
		v.edge(fmt.Sprintf("%s.depends_on[%d]", at, i), t.ID, id)
	}
	for i, input := range t.Inputs {
		path := fmt.Sprintf("%s.inputs[%d]", at, i)
		id, artifact := SplitInput(input)
		if strings.Contains(input, "/") && artifact == "" {
			v.addf(path, id, "input %q has a / but no artifact", input)
			continue
		}
		v.edge(path, t.ID, id)
	}
}

func (v *planCheck) edge(path, from, to string) {
	switch {
	case to == from && to != "":
		v.addf(path, "", "task %q waits for itself", from)
	case !slices.Contains(v.ids, to):
		v.known(path, "task", to, v.ids)
	}
}

func (v *planCheck) scope(at string, t *Task, role *Role, known bool) {
	none := t.IncludeContents == IncludeNone || t.IncludeContents == "" && known && role.IncludeContents != IncludeFull
	if none && t.Last > 0 {
		v.addf(at+".last", "", "last has no effect with include_contents none")
	}
	if none && t.MaxTokens > 0 {
		v.addf(at+".max_tokens", "", "max_tokens has no effect with include_contents none")
	}
}

func (v *planCheck) verification(at string, t *Task) {
	v.gates(at+".gates", t.Gates)
	v.mends(at+".mends", t, "mends", t.Mends)
	v.through(at, t)
	if n := t.AllowSuppress; n < 0 || n > 0 && len(t.Mends)+len(v.mendsAll) == 0 {
		v.addf(at+".mends", "", "allow_suppress is at least 0, and only for tasks with mends")
	}
	if t.Verify == "" {
		return
	}
	role, ok := v.env.Roles[t.Verify]
	switch {
	case !ok:
		v.known(at+".verify", "role", t.Verify, v.roles)
	case t.Verify == RoleMaster || role.Writes:
		v.addf(at+".verify", RoleTester, "role %q cannot verify: a tester changes nothing", t.Verify)
	}
}

func (v *planCheck) gates(at string, names []string) {
	if v.env.Gates == nil {
		return
	}
	for i, gate := range names {
		v.known(fmt.Sprintf("%s[%d]", at, i), "gate", gate, v.env.Gates)
	}
}

// mends faults gates that the task does not run: they would prove nothing of its change.
func (v *planCheck) mends(at string, t *Task, does string, gates []string) {
	v.gates(at, gates)
	for i, gate := range gates {
		if len(t.Gates) > 0 && !slices.Contains(t.Gates, gate) {
			v.addf(fmt.Sprintf("%s[%d]", at, i), "", "task %q %s gate %s and does not run it: add it to gates", t.ID, does, gate)
		}
	}
}

// through faults a gate that is both mended and led through red, and a task that can make none red.
func (v *planCheck) through(at string, t *Task) {
	v.mends(at+".through", t, "goes through", t.Through)
	for i, gate := range t.Through {
		if slices.Contains(t.Mends, gate) {
			v.addf(fmt.Sprintf("%s.through[%d]", at, i), "", "task %q mends gate %s, and cannot make it red as well: "+
				"take it out of mends, or out of through", t.ID, gate)
		}
	}
	if role, known := v.env.Roles[t.Role]; len(t.Through) > 0 && known && !role.ChangesFiles() {
		v.addf(at+".through", "", "task %q changes no file, so no gate gets red by it: take out through", t.ID)
	}
}

func (v *planCheck) shard(at string, s *Shard) {
	if s == nil {
		return
	}
	if s.By == "" {
		v.addf(at+".by", "", "the shard rule has no by: file, dir, package, owner, command or finding")
	}
	if _, err := regexp.Compile(s.Match); err != nil {
		v.addf(at+".match", "", "match is not an RE2 expression: %v", err)
	}
	if s.Glob != "" {
		v.glob(at+".glob", s.Glob)
	}
	if s.By == "command" && len(s.Command) == 0 {
		v.addf(at+".command", "", "a shard rule by command needs a command")
	}
	if s.By != "command" && len(s.Command) > 0 {
		v.addf(at+".command", "", "command belongs to a shard rule by command, not by %s", s.By)
	}
	v.argv(at+".command", s.Command)
}

// remaining faults a value that says nothing, or says it of a task that has no rule to match.
func (v *planCheck) remaining(at string, t *Task) {
	if t.Remaining != "" && (t.Shard == nil || t.Shard.Match == "" || t.Shard.By == "command") {
		v.addf(at, "", "remaining allows files to match shard.match after the task, and the task has no such match")
	}
}

// creates faults globs that are none, and those of a task that needs none, or makes nothing.
func (v *planCheck) creates(at string, t *Task, role *Role, known bool) {
	switch {
	case len(t.Creates) == 0:
	case t.Shard == nil:
		v.addf(at, "", "creates belongs to a task with a shard rule: another task may make the files that it names")
	case known && !role.ChangesFiles():
		v.addf(at, "", "creates lets shards make files, and role %q writes none", t.Role)
	}
	for i, glob := range t.Creates {
		v.glob(fmt.Sprintf("%s[%d]", at, i), glob)
	}
}

// canary faults a number that nothing heeds.
func (v *planCheck) canary(at string, t *Task, role *Role, known bool) {
	switch {
	case t.Canary <= 0:
	case t.Shard == nil:
		v.addf(at, "", "canary belongs to a task with a shard rule: it is how many shards run first")
	case t.Set() != "":
		v.addf(at, "", "the shards of a change set pass together: none of them runs first")
	case known && !role.Runs(ExecutorModel) && role.Usage == "":
		v.addf(at, "", "canary bounds the attempts of models and coding agents, and role %q is neither", t.Role)
	}
}

// filesFor faults a task without files whose command is given files.
func (v *planCheck) filesFor(at string, t *Task, role *Role) {
	command := t.Command
	if len(command) == 0 {
		command = role.Command
	}
	if role.Runs(ExecutorCommand) && (role.Each || slices.Contains(command, ArgFiles)) && t.Shard == nil && len(t.Files) == 0 {
		v.addf(at+".files", "", "role %q gives its command the files of the task, and the task names none", t.Role)
	}
}

func (v *planCheck) command(at string, t *Task, role *Role, known bool) {
	v.argv(at+".command", t.Command)
	if known {
		v.placeholders(at+".command", t.Command, role.Each)
		v.filesFor(at, t, role)
	}
	switch {
	case !known:
	case len(role.Secrets) > 0 && len(t.Command) > 0:
		v.addf(at+".command", "", "role %q has secrets, which are for its own command alone: leave command out", t.Role)
	case role.Executor == ExecutorCommand && len(role.Command) == 0 && len(t.Command) == 0:
		v.addf(at+".command", "", "role %q runs a command: say which", t.Role)
	case !role.Runs(ExecutorCommand) && len(t.Command) > 0:
		v.addf(at+".command", "", "role %q runs no command, so command has no effect", t.Role)
	}
}
