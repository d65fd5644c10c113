// Package phase moves a run through its phases: preflight with the baseline, planning, running, the final gates, the end. It
// decides from the state and runs no gate itself.
package phase
