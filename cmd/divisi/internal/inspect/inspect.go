// Package inspect has the commands that show runs, tasks and events, and remove runs. Its input are runs of the state directory
// or of a server; its output is text or JSON.
package inspect

import "divisi/cmd/divisi/internal/cli"

// Globals are those of every command.
type Globals struct{ *cli.Globals }
