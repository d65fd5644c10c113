// Package phase moves a run through its phases: preflight with the baseline, planning, running, the final gates, the end. Its
// input is the state of the run, its output are the actions that the phase needs next. It never runs a gate itself.
package phase
