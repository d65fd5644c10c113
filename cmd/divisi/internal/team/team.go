// Package team has the commands of several machines: server, workers, credentials, audit and backup.
package team

import "divisi/cmd/divisi/internal/cli"

// Globals are those of every command.
type Globals struct{ *cli.Globals }
