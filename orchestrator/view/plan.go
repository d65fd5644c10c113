package view

import "divisi/orchestrator/run"

// A plan is shown as it is in the log, or as a dry run expands it.
type (
	Plan    = run.PlanData
	Preview = run.Preview
	Overlap = run.Overlap
)
