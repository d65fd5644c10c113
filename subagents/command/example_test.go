package command_test

import (
	"encoding/json"
	"fmt"

	"divisi/internal/spec"
	"divisi/subagents/command"
	"divisi/subagents/wire"
)

// What a role's command reads on its standard input.
func ExampleInput() {
	in := command.Input{
		Task:    spec.Task{ID: "rename-001", Role: "codemod", Brief: "rename Old to New"},
		Attempt: 2, Files: []string{"a.go"}, Constraints: []string{}, Goal: "rename Old everywhere", Inputs: []wire.Input{},
		Prior: []wire.Prior{{Attempt: 1, Fault: spec.Fault{Class: "gate", Message: "1 of 2 gates did not pass: go-test"}}},
	}
	text, err := json.MarshalIndent(in, "", "  ")
	fmt.Println(string(text), err)
	// Output:
	// {
	//   "task": {
	//     "id": "rename-001",
	//     "role": "codemod",
	//     "brief": "rename Old to New"
	//   },
	//   "attempt": 2,
	//   "files": [
	//     "a.go"
	//   ],
	//   "constraints": [],
	//   "decision_record": "",
	//   "goal": "rename Old everywhere",
	//   "inputs": [],
	//   "prior": [
	//     {
	//       "attempt": 1,
	//       "fault": {
	//         "class": "gate",
	//         "message": "1 of 2 gates did not pass: go-test"
	//       }
	//     }
	//   ],
	//   "message": ""
	// } <nil>
}
