package orchestrator

import (
	"divisi/orchestrator/client"
	"divisi/orchestrator/fault"
)

// ErrClosed reports that Wait or Close has released the run before its events were read to the end.
var ErrClosed = client.ErrClosed

// ErrNotTrusted reports that the repository's files request what Options.Trust did not agree to.
var ErrNotTrusted = fault.ErrNotTrusted

// Signalled makes the cause of a context that ends by a signal which is not Ctrl-C: a run tells so.
func Signalled(err error) error { return fault.Signalled(err) }

// IsUsage reports whether an error is a mistake of the caller or in a file, and not a failure of the machine or of a service. The
// caller has to change something, or to wait for another process that holds the run.
func IsUsage(err error) bool { return fault.IsUsage(err) }

// CodeOf returns what an error is about, for a program that adds its own words about what to do next, and the values that those
// need: package usage lists both. It is "" for an error that has none, or whose text has the next step.
func CodeOf(err error) (code string, values []any) { return fault.CodeOf(err) }
