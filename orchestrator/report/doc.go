// Package report turns the state of a run into its report, and into the notes that the run proposes for later runs. Everything
// in a report was measured; nothing is claimed. It prints nothing.
package report
