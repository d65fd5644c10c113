// Package acts has the commands that act on a run: their input are flags and arguments, their output is what became of the act.
// The acts themselves are entries of the table in package act.
package acts

import "divisi/cmd/divisi/internal/inspect"

// Globals are those of every command, which can also show an attempt.
type Globals struct{ inspect.Globals }

// Group is that of the commands in the list of all.
const Group = "Decide"
