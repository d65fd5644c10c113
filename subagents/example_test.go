package subagents_test

import (
	"encoding/json"
	"fmt"

	"divisi/internal/spec"
	"divisi/subagents"
	"divisi/subagents/wire"
)

// What a role's command reads on its standard input.
func ExampleCommandInput() {
	in := subagents.CommandInput{
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

// A message to one running attempt; it is taken at the attempt's next turn boundary.
func ExampleInbox() {
	inbox := subagents.NewInbox(func(cause error) { fmt.Println(cause) })
	inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "keep the old name as an alias", From: "user"})
	for _, m := range inbox.Take() {
		fmt.Println(m.Text)
	}
	inbox.Put(wire.Control{Verb: wire.ControlCancel, Text: "not needed any more"})
	// Output:
	// keep the old name as an alias
	// cancelled: not needed any more
}
