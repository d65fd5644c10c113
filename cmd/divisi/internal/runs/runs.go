// Package runs has the commands that begin, continue and follow a run: what they ask a person, the live view, the terminal board
// and the page.
package runs

import "divisi/cmd/divisi/internal/acts"

// Globals are those of every command, which can also decide for a person.
type Globals struct{ acts.Globals }
