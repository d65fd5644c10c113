package station

import (
	"time"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// WorkerOptions describe a worker that serves the runs of a server.
type WorkerOptions struct {
	StateDir      string // has its caches, work trees and copies of repositories
	Server        depot.Server
	Name          string // one token; "" for the name of the machine and a part of its key
	Agents, Gates int    // at once, all runs together; 0 for 16 agents, and for gates one for every 4 cores
	Tags          []string
	// Policy is the file with what the owner of the machine permits; "" for worker.yaml of StateDir, which need not be there.
	Policy string
	// Remotes are, by the names of repositories' directories where runs are submitted, the URLs that this machine fetches commits
	// from, with the settings and credentials of its user.
	Remotes map[string]string
	// Succeeds is how long it waits for the worker of its directory that is about to end; 0 for one that does not.
	Succeeds       time.Duration
	Toolchain      map[string]string // what it was started inside of, by name
	Record, Replay string            // as those of Machine

	// Once ends it after the first run that it has worked for; IdleExit when it had no run for so long, 0 for never. Grace is how
	// long it waits for agents to end their turn when it is to stop; 0 for a minute.
	Once     bool
	IdleExit time.Duration
	Grace    time.Duration
	// Room measures what the machine lacks, as machine.Short does, which nil is.
	Room func(again bool, dirs ...string) error
	// Notice is that of Machine.
	Notice func(text string)
}

func (o *WorkerOptions) check() error {
	switch {
	case o.StateDir == "":
		return usage.Errorf("StateDir %q cannot hold the caches of a worker: name a directory", o.StateDir)
	case o.Server.URL == "":
		return usage.Errorf("a worker needs the URL of a server")
	case o.Name != "" && (!bus.ValidToken(o.Name) || o.Name == wire.LocalName):
		return usage.Errorf("%.80q is no name of a worker: letters, digits, - and _, and not %s", o.Name, wire.LocalName)
	case o.Agents < 0 || o.Gates < 0 || o.Agents > depot.MaxParallel || o.Gates > depot.MaxParallel:
		return usage.Errorf("a worker has 1 to %d places, not %d for agents and %d for gates",
			depot.MaxParallel, o.Agents, o.Gates)
	case o.Record != "" && o.Replay != "":
		return usage.Errorf("Record and Replay exclude each other: a replay makes no new exchanges")
	}
	for _, tag := range o.Tags {
		if !bus.ValidToken(tag) {
			return usage.Errorf("%.80q is no tag: letters, digits, - and _", tag)
		}
	}
	return nil
}
