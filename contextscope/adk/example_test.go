package adk_test

import (
	"fmt"

	"divisi/contextscope/adk"
)

func ExampleCompile() {
	contents, trace, err := adk.Compile([]byte(`{
		"agent": "coder", "narrative": "plain",
		"events": [
			{"author": "user", "parts": [{"text": "rename Foo"}]},
			{"author": "reader", "parts": [{"functionCall": {"id": "c1", "name": "grep", "args": {"pattern": "Foo<T>"}}}]},
			{"author": "coder", "parts": [{"functionCall": {"id": "c2", "name": "edit", "args": {"file": "a.go"}}}]}
		]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, c := range contents {
		for _, p := range c.Parts {
			fmt.Println(c.Role, p.Text, p.FunctionCall != nil, p.FunctionResponse != nil)
		}
	}
	fmt.Println(trace[2].Notes[0])
	// Output:
	// user rename Foo false false
	// user For context: false false
	// user [reader] called tool `grep` with parameters: {"pattern":"Foo<T>"} false false
	// model  true false
	// user  false true
	// event 2: call "c2" was never answered: its result is a placeholder
}
