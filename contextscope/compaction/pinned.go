package compaction

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/text"

	"google.golang.org/genai"
)

// Facts are known to the caller, and no snapshot may lose them. What the session itself shows (files changed, commands that
// failed) is found by code and need not be given; steering stays beside every snapshot as it is.
type Facts struct {
	// Constraints are the brief's.
	Constraints []string
	// Files are paths that are known to have changed, from the work tree.
	Files []string
}

const (
	// maxRed is how many failed commands are kept, the newest; maxErrors bounds the lines kept of one, in bytes, and
	// maxErrorLines their number.
	maxRed        = 20
	maxErrors     = 1000
	maxErrorLines = 10
	// maxCommand bounds how much of a command line names it.
	maxCommand = 200
)

// answered is a call with its result.
type answered struct {
	call   *genai.FunctionCall
	result map[string]any
	// seq is the event of the result.
	seq int
}

// answeredCalls lists the calls that have a result, in the order of the results.
func answeredCalls(events []contextscope.Event) []answered {
	var out []answered
	open := map[content.Key][]*genai.FunctionCall{}
	for _, e := range events {
		switch e.Kind {
		case contextscope.KindTurn:
			fresh := map[content.Key]bool{}
			content.EachCall(e.Content, func(fc *genai.FunctionCall) {
				k := content.CallKey(fc)
				if !fresh[k] {
					open[k], fresh[k] = nil, true // the nearest call before a result is the one meant
				}
				open[k] = append(open[k], fc)
			})
		case contextscope.KindTool:
			content.EachResponse(e.Content, func(fr *genai.FunctionResponse) {
				k := content.ResponseKey(fr)
				if len(open[k]) > 0 {
					out = append(out, answered{open[k][0], fr.Response, e.Seq})
					open[k] = open[k][1:]
				}
			})
		}
	}
	return out
}

// changed are the paths that a call changed.
func (a answered) changed() (paths []string) {
	if _, failed := a.result[content.ErrorKey]; failed || !spec.WritingTool(a.call.Name) {
		return nil
	}
	for _, name := range CalledPaths(a.call.Args) {
		if name = plainText(name); name != "" {
			paths = append(paths, path.Clean(name))
		}
	}
	return paths
}

// CalledPaths are the paths that the arguments of a file tool name: path, or that of each of edits.
func CalledPaths(args map[string]any) (paths []string) {
	if name, ok := args["path"].(string); ok {
		paths = append(paths, name)
	}
	edits, _ := args["edits"].([]any)
	for _, e := range edits {
		edit, _ := e.(map[string]any)
		if name, ok := edit["path"].(string); ok && !slices.Contains(paths, name) {
			paths = append(paths, name)
		}
	}
	return paths
}

// plan is the plan that the call set, a step a line; empty for every other call.
func (a answered) plan() string {
	if _, failed := a.result[content.ErrorKey]; failed || a.call.Name != spec.ToolUpdatePlan {
		return ""
	}
	list, _ := a.call.Args["items"].([]any)
	items := make([]string, len(list))
	for i, item := range list {
		items[i], _ = item.(string)
	}
	steps, err := spec.ReadSteps(items)
	if err != nil {
		return ""
	}
	for i, s := range steps {
		items[i] = s.String()
	}
	return strings.Join(items, "\n")
}

// commandOf is the command line of a call that ran to its end; failed reports that its exit code was not zero.
func (a answered) commandOf() (line string, failed, ran bool) {
	if a.call.Name != spec.ToolRunCommand {
		return "", false, false
	}
	line, _ = a.call.Args["command"].(string)
	if args, isList := a.call.Args["args"].([]any); line == "" && isList {
		words := make([]string, len(args))
		for i, arg := range args {
			words[i] = fmt.Sprint(arg)
		}
		line = strings.Join(words, " ")
	}
	line = oneLine(line)
	code, isNumber := number(a.result["exit_code"])
	return line, code != 0, isNumber && line != ""
}

// number reads a number as a tool gives it or as JSON brings it back.
func number(v any) (float64, bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	default:
		return 0, false
	}
}

// oneLine is a command line as a name: its first line, blanks joined, bounded.
func oneLine(command string) string {
	first, _, more := strings.Cut(plainText(command), "\n")
	name := strings.Join(strings.Fields(first), " ")
	if more {
		name += " ..."
	}
	if len(name) > maxCommand {
		name = text.Head(name, maxCommand) + "..."
	}
	return name
}

// lastLines are the last lines of an output that say something.
func lastLines(output string) string {
	var lines []string
	size := 0
	all := strings.Split(plainText(output), "\n")
	for i := len(all) - 1; i >= 0 && len(lines) < maxErrorLines; i-- {
		line := strings.TrimRight(all[i], " \t")
		if size += len(line) + 1; size > maxErrors {
			break
		}
		if line != "" {
			lines = append(lines, line)
		}
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// red is a failed command: its line, the last lines of its output, and the event of its result.
type red struct {
	name   string
	errors string
	seq    int
}

// evidence is found by code in a session, up to an event.
type evidence struct {
	// changed are the paths in order of their first change, with the event of each change.
	changed []change
	red     []red
	// plan is the agent's own one, where its newest list goes with the range.
	plan string
}

type change struct {
	path string
	seq  int
}

// gather finds the evidence up to an event. A command that passed when it ran again is red no more, wherever that was.
func gather(events []contextscope.Event, to int) evidence {
	var ev evidence
	last := map[string]red{}
	for _, a := range answeredCalls(events) {
		for _, name := range a.changed() {
			if a.seq <= to {
				ev.changed = append(ev.changed, change{name, a.seq})
			}
		}
		if plan := a.plan(); plan != "" {
			ev.plan = ""
			if a.seq <= to {
				ev.plan = plan
			}
		}
		line, failed, ran := a.commandOf()
		switch {
		case !ran:
		case failed:
			output, _ := a.result[content.OutputKey].(string)
			last[line] = red{line, lastLines(output), a.seq}
		default:
			delete(last, line)
		}
	}
	for _, r := range last {
		if r.seq <= to {
			ev.red = append(ev.red, r)
		}
	}
	slices.SortFunc(ev.red, func(a, b red) int {
		return cmp.Or(cmp.Compare(a.seq, b.seq), strings.Compare(a.name, b.name))
	})
	ev.red = ev.red[max(0, len(ev.red)-maxRed):]
	return ev
}

// pinned are the facts that a snapshot up to the evidence's end holds, each once: what the caller knows and what code found.
func (f Facts) pinned(ev evidence) []Fact {
	var facts []Fact
	add := func(kind, text string) {
		fact := Fact{kind, plainText(text)}
		if fact.Text != "" && !slices.Contains(facts, fact) {
			facts = append(facts, fact)
		}
	}
	for _, c := range f.Constraints {
		add(FactConstraint, c)
	}
	files := slices.Clone(f.Files)
	for _, c := range ev.changed {
		files = append(files, c.path)
	}
	slices.Sort(files)
	for _, name := range slices.Compact(files) {
		add(FactChangedFile, name)
	}
	add(FactOwnPlan, ev.plan)
	for _, r := range ev.red {
		add(FactRedGate, r.name+"\n"+r.errors)
	}
	return facts
}
