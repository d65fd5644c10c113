package spec

import (
	"slices"
	"strings"
)

// Dependencies returns the ids of the tasks that must be over before this one starts: depends_on, then the tasks of
// inputs, which imply a dependency. Each id once, in the order of writing.
func (t *Task) Dependencies() []string {
	ids := make([]string, 0, len(t.DependsOn)+len(t.Inputs))
	for _, id := range t.DependsOn {
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, input := range t.Inputs {
		if id, _ := SplitInput(input); !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids
}

// SplitInput takes an input apart: a task, or task/artifact.
func SplitInput(input string) (task, artifact string) {
	task, artifact, _ = strings.Cut(input, "/")
	return task, artifact
}

// cycles returns the circles in the dependencies of the tasks, each as the ids along it with the first one repeated at
// the end. One circle is reported for each edge that closes one, in plan order.
func cycles(tasks []Task) [][]string {
	d := &circleFinder{edges: make(map[string][]string, len(tasks)), state: make(map[string]int8, len(tasks))}
	for i := range tasks {
		if _, twice := d.edges[tasks[i].ID]; !twice {
			d.edges[tasks[i].ID] = tasks[i].Dependencies()
		}
	}
	for i := range tasks {
		d.visit(tasks[i].ID)
	}
	return d.found
}

// circleFinder is a depth-first walk; a node is 0 unseen, 1 on the stack, 2 done.
type circleFinder struct {
	edges map[string][]string
	state map[string]int8
	stack []string
	found [][]string
}

func (d *circleFinder) visit(id string) {
	if d.state[id] != 0 {
		return
	}
	d.state[id] = 1
	d.stack = append(d.stack, id)
	for _, next := range d.edges[id] {
		if _, known := d.edges[next]; !known || next == id {
			continue // both are reported where they are written
		}
		if d.state[next] == 1 {
			from := slices.Index(d.stack, next)
			d.found = append(d.found, append(slices.Clone(d.stack[from:]), next))
			continue
		}
		d.visit(next)
	}
	d.stack = d.stack[:len(d.stack)-1]
	d.state[id] = 2
}
