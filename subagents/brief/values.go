package brief

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/contextscope/compile"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// valuesOf returns the values that the role's instruction can name. What is not the same for every agent of the role in the run
// is marked as changing, and so never enters the prefix.
func valuesOf(a *wire.Assignment) ([]compile.Value, error) {
	values := []compile.Value{
		{Name: "goal", Text: a.Goal, Stable: true},
		{Name: "run", Text: a.Run, Stable: true},
		{Name: "role", Text: a.Role.Name, Stable: true},
		{Name: "model", Text: a.Project.ModelName(a.Role.Model), Stable: true},
		{Name: "task", Text: a.Task.ID},
		{Name: "title", Text: a.Task.Title},
		{Name: "attempt", Text: strconv.Itoa(a.Attempt)},
		{Name: "files", Text: strings.Join(a.Task.Files, ", ")},
	}
	var names []string
	for _, in := range a.Inputs {
		if in.Artifact != nil {
			names = append(names, in.Artifact.Name)
			// Its text is quoted in the brief: words of another agent never stand beside the runtime's.
			values = append(values, compile.Value{
				Name: "artifact." + in.Artifact.Name,
				Text: fmt.Sprintf("it is in your task, as artifact %q of task %s", in.Artifact.Name, in.Task),
			})
		}
	}
	template, _ := spec.ParseTemplate(a.Role.Instruction) // its problems were told when the role was loaded
	for _, key := range template.Keys() {
		if key.Artifact && !key.Optional && !slices.Contains(names, key.Name) {
			return nil, &wire.RefusedError{Class: wire.FaultInput, Err: fmt.Errorf("line %d of the instruction of role %s names "+
				"the artifact %q, which is not among the task's inputs%s: give the task an input TASK/%s, or write "+
				"{artifact.%s?}",
				key.Line, a.Role.Name, key.Name, meant(key.Name, names), key.Name, key.Name)}
		}
	}
	return values, nil
}

func meant(name string, names []string) string {
	if near := spec.Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}
