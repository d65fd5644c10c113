package client

import (
	"divisi/bus"
	"divisi/orchestrator/call"
	"divisi/orchestrator/store"
)

// StandOf is the standing of a run of this machine.
func StandOf(dir store.Dir, id string) call.Standing {
	if bus.Locked(dir.Bus(id)) {
		return call.Standing{Mark: "active", Active: true}
	}
	taken, _ := bus.Taken(dir.Bus(id)) // a run that was never taken has the zero time
	return call.Standing{Mark: taken.String()}
}
