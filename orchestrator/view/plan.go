package view

import "divisi/orchestrator/run"

type (
	// Plan is one as it is in the log.
	Plan = run.PlanData
	// Preview is one as a dry run expands it.
	Preview = run.Preview
	// Overlap is two tasks of one that write the same path.
	Overlap = run.Overlap
)
