package spec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// Set returns the name of the task's change set; "" for none. The shards of a template that belong together are a set with the
// name of the template.
func (t *Task) Set() string {
	if t.Together && t.ChangeSet == "" {
		return t.ID
	}
	return t.ChangeSet
}

// changeSet faults a set that has no name, and a template with two of them.
func (v *planCheck) changeSet(at string, t *Task) {
	switch {
	case t.Together && t.Shard == nil:
		v.addf(at+".together", "", "together belongs to a task with a shard rule: give each task of the set the same change_set")
	case t.Together && t.ChangeSet != "":
		v.addf(at+".together", "", "the template has a change_set: leave together out")
	case t.ChangeSet != "" && !taskID.MatchString(t.ChangeSet):
		v.addf(at+".change_set", plainID(t.ChangeSet), "change set %q: a name is formed like a task's id", t.ChangeSet)
	}
}

// changeSets faults sets of one task, and sets that could never be complete: none of their tasks lands before all have ended, so
// that no task of a set can wait for another one, nor for a task that waits for the set.
func (v *planCheck) changeSets(p *Plan) {
	first, size := map[string]int{}, map[string]int{}
	for i := range v.env.Tasks {
		size[v.env.Tasks[i].ChangeSet]++
	}
	for i := range p.Tasks {
		name := p.Tasks[i].Set()
		if _, had := first[name]; !had {
			first[name] = i
		}
		if size[name]++; p.Tasks[i].Shard != nil {
			size[name]++ // it may have more than one shard
		}
	}
	v.redGreen(p)
	delete(first, "")
	for _, name := range slices.Sorted(maps.Keys(first)) {
		if size[name] == 1 {
			v.addf(fmt.Sprintf("tasks[%d].change_set", first[name]), "",
				"change set %q has one task: leave change_set out, or give it to the tasks that belong to it", name)
		}
	}
	if len(first) > 0 {
		v.setCircles(p, first)
	}
}

// redGreen faults tasks whose tests could not be proven: those in a change set without a task that makes the change, and those
// outside of one whose files no mutants can be tried with; and tasks of such a set that could change the tests of another one.
func (v *planCheck) redGreen(p *Plan) {
	proves := func(t Task) bool { return v.env.Roles[t.Role].Proves == ProvesRedGreen }
	changes, tests := map[string]bool{}, map[string]bool{}
	for _, t := range slices.Concat(v.env.Tasks, p.Tasks) {
		changes[t.Set()], tests[t.Set()] = changes[t.Set()] || !proves(t), tests[t.Set()] || proves(t)
	}
	for i, t := range p.Tasks {
		switch at := fmt.Sprintf("tasks[%d]", i); {
		case proves(t) && t.Set() == "" && t.Shard == nil && !slices.ContainsFunc(t.Files, testFile.MatchString):
			v.addf(at+".role", "", "the tests of task %q have to fail without a change and pass with it: give it and the task "+
				"that makes the change the same change_set, or, for code that exists, name files of tests in Go, Python, "+
				"JavaScript or TypeScript", t.ID)
		case proves(t) && t.Set() != "" && !changes[t.Set()]:
			v.addf(at+".change_set", "", "change set %q has nothing but tests: add the task that makes the change to it",
				t.Set())
		case t.Set() != "" && tests[t.Set()] && len(t.Files) == 0 && t.Shard == nil:
			v.addf(at+".files", "", "task %q names no files, and change set %q has tests that only their author may change: "+
				"name its files", t.ID, t.Set())
		}
	}
}

// testFile are the names of files of tests, or of patterns of them, in languages that have mutants.
var testFile = lazyregexp.New(`_test\.go$|(?:^|/)(?:test_[^/]*|[^/]*_test|tests?/.*)\.py$|` +
	`(?:[._-](?:test|spec)|(?:^|/)(?:tests?|__tests__|specs?)/.*|(?:^|/)tests?)\.[cm]?[jt]sx?$`)

// setMark begins the id of a node that stands for a change set. No task's id has a space.
const setMark = "change set "

// setCircles finds circles in the plan where each set is one node; first has the index of each set's first task.
func (v *planCheck) setCircles(p *Plan, first map[string]int) {
	set := map[string]string{}
	for _, t := range slices.Concat(v.env.Tasks, p.Tasks) {
		if name := t.Set(); name != "" {
			set[t.ID], set[t.ShardOf] = setMark+name, setMark+name
		}
	}
	delete(set, "")
	var nodes []Task
	at := map[string]int{}
	for i, t := range slices.Concat(p.Tasks, v.env.Tasks) {
		node := cmp.Or(set[t.ID], t.ID)
		if _, had := at[node]; !had {
			at[node], nodes = len(nodes), append(nodes, Task{ID: node})
		}
		n := &nodes[at[node]]
		for _, dep := range t.Dependencies() {
			if i < len(p.Tasks) && set[dep] == node && dep != t.ID {
				v.addf(fmt.Sprintf("tasks[%d].depends_on", i), "",
					"task %q waits for %q of the same change set, which lands with it", t.ID, dep)
			}
			n.DependsOn = append(n.DependsOn, cmp.Or(set[dep], dep))
		}
	}
	for _, circle := range Circles(nodes) {
		for _, id := range circle {
			name, isSet := strings.CutPrefix(id, setMark)
			if i, ours := first[name]; isSet && ours {
				v.addf(fmt.Sprintf("tasks[%d].change_set", i), "",
					"the tasks wait for each other in a circle, since a change set lands as one: %s",
					strings.Join(circle, " -> "))
				break
			}
		}
	}
}
