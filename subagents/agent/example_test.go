package agent_test

import (
	"fmt"

	"divisi/subagents/agent"
	"divisi/subagents/wire"
)

// A message to one running attempt; it is taken at the attempt's next turn boundary.
func ExampleInbox() {
	inbox := agent.NewInbox(func(cause error) { fmt.Println(cause) })
	inbox.Put(wire.Control{ID: "1", Verb: wire.ControlSteer, Text: "keep the old name as an alias", From: "user"})
	for _, m := range inbox.Take() {
		fmt.Println(m.Text)
	}
	inbox.Put(wire.Control{Verb: wire.ControlCancel, Text: "not needed any more"})
	// Output:
	// keep the old name as an alias
	// cancelled: not needed any more
}
