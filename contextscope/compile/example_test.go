package compile_test

import (
	"fmt"

	"divisi/contextscope"
	"divisi/contextscope/compile"
	"divisi/contextscope/slice"
	"divisi/internal/spec"

	"google.golang.org/genai"
)

func ExampleCompiler_Compile() {
	request := compile.NewCompiler().Compile(compile.Input{
		Agent: "rename/1",
		Role:  spec.Role{Name: "generator", Instruction: "You change code."},
		Slice: slice.Slice{DecisionRecord: "Foo becomes Bar."},
		Brief: compile.Brief{Task: spec.Task{ID: "rename", Brief: "Rename Foo in a.go.", Files: []string{"a.go"}}},
		Tools: []*genai.FunctionDeclaration{{Name: "read"}, {Name: "edit"}},
		Events: []contextscope.Event{
			{
				ID: "e1", Kind: contextscope.KindTurn, Agent: "rename/1",
				Content: genai.NewContentFromText("Done.", genai.RoleModel),
			},
		},
	})
	fmt.Println(request.System.Parts[0].Text)
	for _, c := range request.Contents {
		for _, p := range c.Parts {
			fmt.Printf("%s: %s\n", c.Role, p.Text)
		}
	}
	for _, line := range request.Trace {
		fmt.Println("-", line.Processor, line.What)
	}
	// Output:
	// You change code.
	// user: Decision record. It is settled and holds for every task of this run:
	//
	// Foo becomes Bar.
	// user: Task: rename
	//
	// Brief:
	// Rename Foo in a.go.
	//
	// Files that may be changed, and no others:
	// - a.go
	// model: Done.
	// - instruction static text of role generator
	// - tools edit, read
	// - background decision record
	// - brief task rename: 0 handoffs, 0 earlier attempts
	// - history 1 of 1 events of the session
	// - recall 0 of 0 notes found
	// - artifacts 0 of 0 handles, 0 loaded
	// - reminders 0 values, 0 reminders
	// - fit about 61 tokens; no bound is known
	// - cache instruction, tools and 1 parts of contents[0] are the same for all siblings (sha256 9cc475ff7a02); this agent's requests all begin with contents[:1]
}
