package recovery

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Widen reports how a file becomes one that a task may change.
func Widen(order *run.Spec, t *run.Task) string {
	again := "; then retry it in run " + order.Run
	task := "a task"
	if t.Task.ChangeSet != "" {
		task += " with change_set: " + t.Task.ChangeSet + " and"
	} else {
		task += " with"
	}
	switch {
	case order.Plan == nil:
		return fmt.Sprintf("If it must change, dispatch %s its path in files", task)
	case t.Task.ShardOf != "":
		return fmt.Sprintf("If it must change, add %s its path in files to the plan, or have the shard rule of %s find it "+
			"(glob, match), which finds no protected file%s", task, t.Task.ShardOf, again)
	case t.Parent != "":
		return fmt.Sprintf("If it must change, add %s its path in files to the plan%s", task, again)
	}
	return "If it must change, add its path to files of this task in the plan" + again
}

// outside tells it where a patch is given up that changed other files than those of its task; "" elsewhere.
func outside(order *run.Spec, works run.Works, t *run.Task, f spec.Fault) string {
	if f.Class != wire.FaultWriteSet || works.ByPerson(t) {
		return ""
	}
	if made := madeOutside(order, works, t); made != "" {
		return fmt.Sprintf(". If shards must make such files, add creates: ['%s'] to %s in the plan; then retry it in run %s",
			path.Join(path.Dir(made), "*"+path.Ext(made)), t.Task.ShardOf, order.Run)
	}
	return ". " + Widen(order, t)
}

// madeOutside is the first file that a shard has made outside its write set; "" for none.
func madeOutside(order *run.Spec, works run.Works, t *run.Task) string {
	a := works[t.Task.ID].Newest()
	if order.Plan == nil || t.Task.ShardOf == "" || a == nil || a.Result == nil || a.Result.Patch == nil {
		return ""
	}
	set := t.WriteSet(order.Project.Protected)
	i := slices.IndexFunc(a.Result.Patch.Created, func(name string) bool { return set.RefuseChange(name, true) != "" })
	if i < 0 {
		return ""
	}
	return a.Result.Patch.Created[i]
}

// whole explains what to do where several shards of a template miss the same name: their change may be right only as a whole. ""
// where they do not.
func whole(tasks *run.Tasks, t *run.Task, f spec.Fault) string {
	name, shards := missing(f), 0
	for _, id := range tasks.Shards[t.Task.ShardOf] {
		for _, had := range tasks.ByID[id].Faults {
			if id != t.Task.ID && missing(had.Fault) == name {
				shards++
				break
			}
		}
	}
	if name == "" || shards == 0 || t.Task.ChangeSet != "" {
		return ""
	}
	return fmt.Sprintf(". %d shards of %s do not find %q. If it is an import that they lack, mend the role or the brief; if the "+
		"change is right only as a whole, set together: true on the template; if the old and the new form can stand side by "+
		"side, add the new one, move its users, then remove the old one, as tasks with depends_on",
		shards+1, t.Task.ShardOf, name)
}

// unknownName finds, in its first or second group, the name that a compiler or linter does not know.
var unknownName = lazyregexp.New("(?i)(?:undefined:|undeclared name:|undefined name|unresolved import|no member named|" +
	"cannot find (?:symbol: )?\\w+|has no \\w+(?: or \\w+)?) ['\"`‘]?([\\pL_][\\pL\\pN_.:]*)|" +
	"['\"`‘]?([\\pL_][\\pL\\pN_.]*)['\"`’]? (?:is not defined|does not exist on)")

// missing is the name in the first signature, which is not a test's, of what a compiler does not find. "" for none.
func missing(f spec.Fault) string {
	for _, signature := range f.Signatures {
		if strings.Contains(signature, "test: ") || strings.Contains(signature, "package: ") {
			continue
		}
		if m := unknownName.FindStringSubmatch(signature); m != nil {
			return cmp.Or(m[1], m[2])
		}
	}
	return ""
}
