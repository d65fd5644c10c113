package call

import (
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/orchestrator/plan"
	"divisi/subagents/wire"
)

const kib = 1 << 10

// These are all that the half that works asks of the half that conducts.
var (
	// ConductorPlan checks a plan on the present run.
	ConductorPlan = Kind[spec.Plan, plan.Checked]{"plan", Planner, bus.MaxData, 20, time.Second}
	// ConductorForeign reports what to do about an attempt without a baseline of the worker's environment.
	ConductorForeign = Kind[wire.Foreign, wire.Placed]{"foreign", Holder, 4 * kib, 200, 20 * time.Millisecond}
	// ConductorPropose keeps a note for the memory, and returns its id.
	ConductorPropose = Kind[memory.Note, string]{"propose", Holder, 256 * kib, 20, time.Second}
	// ConductorSearch finds notes, ConductorRecall those for a request; ConductorRefresh reads what was noted since, and reports
	// whether there is a note.
	ConductorSearch  = Kind[Asking, []memory.Hit]{"search", Counted, 64 * kib, 200, 20 * time.Millisecond}
	ConductorRecall  = Kind[Asking, Recalled]{"recall", Counted, 256 * kib, 200, 20 * time.Millisecond}
	ConductorRefresh = Kind[None, bool]{"refresh", Counted, kib, 200, 50 * time.Millisecond}
	// ConductorGrant reports what the worker has of the budget, and needs.
	ConductorGrant = Kind[wire.Holding, *wire.Grant]{"grant", Counted, 4 * kib, 200, 20 * time.Millisecond}
	// ConductorFull has the conductor look whether the store can take more; the body is what the worker met.
	ConductorFull = Kind[string, None]{"full", Counted, 4 * kib, 1, time.Minute}
	// ConductorEnlist has the run count on the worker from now on, ConductorLeave no more: because of what its machine lacks, or
	// "" for another reason.
	ConductorEnlist = Kind[wire.Enlistment, Enlisted]{"enlist", AnyWorker, 512 * kib, 30, time.Second}
	ConductorLeave  = Kind[string, None]{"leave", AnyWorker, 4 * kib, 10, time.Second}
	// ConductorPack lends what the worker's machine lacks.
	ConductorPack = Kind[Lacking, Pack]{"pack", AnyWorker, 512 * kib, 200, 100 * time.Millisecond}
	// ConductorRead shows messages of the log.
	ConductorRead = Kind[wire.Reading, wire.Page]{"read", AnyWorker, 4 * kib, 2000, 5 * time.Millisecond}
	// ConductorGap notes what a person should know of the recording by now.
	ConductorGap = Kind[string, None]{"gap", OwnHands, 4 * kib, 20, time.Second}
)

// Asking is a query of the memory, for at most so many notes or tokens.
type Asking struct {
	Text string `json:"text"`
	Most int    `json:"most" maximum:"1000000"`
}

// Recalled holds the notes of the memory for a request, and hints for a person about it.
type Recalled struct {
	Recalled []contextscope.Recalled `json:"recalled,omitempty"`
	Notes    []string                `json:"notes,omitempty"`
}

// Enlisted is a worker's share of the budget, and the services that have asked callers to wait.
type Enlisted struct {
	Grant  *wire.Grant `json:"grant,omitempty"`
	Limits []spec.Wait `json:"limits,omitempty"`
}

// Lacking lists the missing resources of the caller's machine: a commit, of a repository that has some; with Module one of that
// submodule, without what leads to it; with Past the history of the base but for that of some tips; a content of Git LFS; or an
// environment.
type Lacking struct {
	Commit      string        `json:"commit,omitempty"`
	Have        []string      `json:"have,omitempty"`
	Module      string        `json:"module,omitempty"`
	Past        bool          `json:"past,omitempty"`
	Content     *spec.Pointer `json:"content,omitempty"`
	Environment string        `json:"environment,omitempty"`
}

// Pack is a sealed object in the cache of a bus, of so many bytes; no object where nothing is lent.
type Pack struct {
	Object string `json:"object,omitempty"`
	Size   int64  `json:"size,omitempty"`
}
