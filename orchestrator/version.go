package orchestrator

import (
	"divisi/internal/release"
)

// Version is the version of this program.
func Version() string { return release.Version() }

// Commit is the commit that this program was built of, and its time; empty where the build had no version control.
func Commit() (commit, time string) { return release.Commit() }
