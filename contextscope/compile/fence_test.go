package compile

import (
	"encoding/json"
	"strings"
	"testing"

	"google.golang.org/genai"

	"divisi/contextscope"
	"divisi/contextscope/slice"
	"divisi/internal/spec"
	"divisi/internal/testkit/fencetest"
	"divisi/internal/testkit/sessiontest"
)

// told is an event of another agent.
func told(author string, parts ...*genai.Part) slice.Slice {
	return slice.Slice{Events: []contextscope.Event{{
		ID: "e", Kind: contextscope.KindTurn, Agent: author, Author: author, Content: &genai.Content{Role: genai.RoleModel, Parts: parts},
	}}}
}

// Whatever a repository, a tool or another agent wrote is in the fence, and a name of theirs is one word, or in it too.
func TestWordsOfOthersStayInTheFence(t *testing.T) {
	t.Parallel()
	handoff := func(in *Input, h spec.Handoff) {
		in.Brief.Inputs = []Handoff{{Task: "read", Role: "reader", Handoff: h}}
	}
	for name, put := range map[string]func(in *Input, words string){
		"what an agent said": func(in *Input, w string) { in.Slice = told("read/1", &genai.Part{Text: w}) },
		"arguments":          func(in *Input, w string) { in.Slice = told("read/1", callWith("grep", w)) },
		"a result":           func(in *Input, w string) { in.Slice = told("read/1", sessiontest.Result("a", "grep", w)) },
		"the type of data": func(in *Input, w string) {
			in.Slice = told("read/1", &genai.Part{InlineData: &genai.Blob{MIMEType: w}})
		},
		"the place of a file": func(in *Input, w string) {
			in.Slice = told("read/1", &genai.Part{FileData: &genai.FileData{FileURI: w}})
		},
		"an instruction file": func(in *Input, w string) { in.Guides = []contextscope.Guide{{Path: "AGENTS.md", Text: w}} },
		"a file":              func(in *Input, w string) { in.Brief.Files = []File{{Path: "a.go", Text: w}} },
		"an outline":          func(in *Input, w string) { in.Brief.Files = []File{{Path: "a.go", Outline: w}} },
		"a summary":           func(in *Input, w string) { handoff(in, spec.Handoff{Summary: w}) },
		"a finding":           func(in *Input, w string) { handoff(in, spec.Handoff{Findings: []string{w}}) },
		"a deviation":         func(in *Input, w string) { handoff(in, spec.Handoff{Deviations: []string{w}}) },
		"what it says it kept": func(in *Input, w string) {
			handoff(in, spec.Handoff{Constraints: []spec.ConstraintEcho{{Text: "c", Note: w}}})
		},
		"handles":   func(in *Input, w string) { handoff(in, spec.Handoff{Artifacts: []string{w}}) },
		"an output": func(in *Input, w string) { handoff(in, spec.Handoff{Output: json.RawMessage(spec.JSONText(w))}) },
		"an artifact": func(in *Input, w string) {
			in.Brief.Inputs = []Handoff{{Task: "read", Artifact: &contextscope.Artifact{Name: "a", Handle: "h", Text: w, Bytes: len(w)}}}
		},
		"an error": func(in *Input, w string) { in.Brief.Prior = []Prior{{Attempt: 1, Fault: spec.Fault{Message: w}}} },
		"the detail of an error": func(in *Input, w string) {
			in.Brief.Prior = []Prior{{Attempt: 1, Fault: spec.Fault{Message: "m", Detail: w}}}
		},
		"an earlier summary":      func(in *Input, w string) { in.Brief.Prior = []Prior{{Attempt: 1, Summary: w}} },
		"an earlier patch":        func(in *Input, w string) { in.Brief.Prior = []Prior{{Attempt: 1, Diff: w}} },
		"a note":                  func(in *Input, w string) { in.Tail.Recall = []contextscope.Recalled{{Name: "n", Text: w}} },
		"the title of a note":     func(in *Input, w string) { in.Tail.Recall = []contextscope.Recalled{{Name: "n", Title: w, Text: "x"}} },
		"what can be loaded":      func(in *Input, w string) { in.Tail.Artifacts = []contextscope.Listed{{Handle: "h@1", What: w}} },
		"a handle to load":        func(in *Input, w string) { in.Tail.Artifacts = []contextscope.Listed{{Handle: w}} },
		"what was loaded":         func(in *Input, w string) { in.Tail.Loaded = []Loaded{{Handle: "h@1", Text: w}} },
		"which part was loaded":   func(in *Input, w string) { in.Tail.Loaded = []Loaded{{Handle: "h@1", What: w, Text: "x"}} },
		"an artifact as a value":  func(in *Input, w string) { in.Tail.Values = []Value{{Name: "artifact.a", Text: w}} },
		"the path of a file":      func(in *Input, w string) { in.Brief.Files = []File{{Path: w, Text: "x"}} },
		"the path of an outline":  func(in *Input, w string) { in.Brief.Files = []File{{Path: w, Outline: "x"}} },
		"the path of a guide":     func(in *Input, w string) { in.Guides = []contextscope.Guide{{Path: w, Text: "x"}} },
		"the name of a note":      func(in *Input, w string) { in.Tail.Recall = []contextscope.Recalled{{Name: w, Text: "x"}} },
		"a handle that is loaded": func(in *Input, w string) { in.Tail.Loaded = []Loaded{{Handle: w, Text: "x"}} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fencetest.CheckQuoted(t, func(words string) string { return promptWith(put, words) })
		})
	}
	for name, put := range map[string]func(in *Input, words string){
		"an agent":            func(in *Input, w string) { in.Slice = told(w, &genai.Part{Text: "x"}) },
		"a tool that is used": func(in *Input, w string) { in.Slice = told("read/1", callWith(w, "x")) },
		"a tool that answers": func(in *Input, w string) { in.Slice = told("read/1", sessiontest.Result("a", w, "x")) },
		"an upstream task": func(in *Input, w string) {
			in.Brief.Inputs = []Handoff{{Task: w, Role: w, Handoff: spec.Handoff{Summary: "x"}}}
		},
		"an empty artifact": func(in *Input, w string) {
			in.Brief.Inputs = []Handoff{{Task: "read", Artifact: &contextscope.Artifact{Name: w, Handle: w}}}
		},
		"a binary artifact": func(in *Input, w string) {
			in.Brief.Inputs = []Handoff{{Task: "read", Artifact: &contextscope.Artifact{Name: w, Handle: w, Bytes: 9}}}
		},
		"a cut artifact": func(in *Input, w string) {
			in.Brief.Inputs = []Handoff{{Task: "read", Artifact: &contextscope.Artifact{Name: w, Handle: w, Text: "x", Bytes: 9}}}
		},
		"a class of errors": func(in *Input, w string) {
			in.Brief.Prior = []Prior{{Attempt: 1, Fault: spec.Fault{Class: w, Message: "m"}}}
		},
		"the title of a task": func(in *Input, w string) { in.Brief.Task.Title = w },
		"a path to change":    func(in *Input, w string) { in.Brief.Task.Files = []string{w} },
		"a gate":              func(in *Input, w string) { in.Brief.Task.Gates = []string{w} },
		"a change set":        func(in *Input, w string) { in.Brief.Task.ChangeSet = w },
		"a value":             func(in *Input, w string) { in.Tail.Values = []Value{{Name: "files", Text: w}} },
	} {
		t.Run("name/"+name, func(t *testing.T) {
			t.Parallel()
			fencetest.Check(t, func(words string) string { return promptWith(put, words) })
		})
	}
}

func callWith(name, words string) *genai.Part {
	return &genai.Part{FunctionCall: &genai.FunctionCall{Name: name, Args: map[string]any{"words": words}}}
}

// promptWith is a request with words of others in a place.
func promptWith(put func(in *Input, words string), words string) string {
	in := Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen", Brief: "Do it."}}}
	put(&in, words)
	r := open(in).compile(in.Tail)
	var texts []string
	for _, c := range r.Contents {
		texts = append(texts, sessiontest.Texts(c.Parts)...)
	}
	return strings.Join(texts, "\n\n")
}
