package orchestrator

import (
	"divisi/bus"
	"divisi/orchestrator/store"
)

// standing is what can be told of a run without its log: Mark is another one where it may stand otherwise, Active reports that a
// process has it.
type standing struct {
	Mark   string `json:"mark"`
	Active bool   `json:"active,omitempty"`
}

// standOf is the standing of a run of this machine.
func standOf(dir store.Dir, id string) standing {
	if bus.Locked(dir.Bus(id)) {
		return standing{"active", true}
	}
	taken, _ := bus.Taken(dir.Bus(id)) // a run that was never taken has the zero time
	return standing{Mark: taken.String()}
}
