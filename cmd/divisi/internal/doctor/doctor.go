// Package doctor checks a machine and a repository for runs. Its input are Options, its output findings: a check's name, what it
// found, a level, and the next step. Each check tries what it reports. It runs no gate, calls a model only with Options.Call, and
// never changes the repository or a run.
package doctor

import (
	"context"
	"fmt"
	"iter"
	"time"

	"divisi/configs"
	"divisi/orchestrator/store"
)

// Level grades a finding.
type Level string

// The levels of a finding.
const (
	OK Level = "ok"
	// Warning means that runs work, with less than there could be.
	Warning Level = "warning"
	// Problem means that runs fail.
	Problem Level = "problem"
)

// Finding is the result of a check, and the next step.
type Finding struct {
	Check string `json:"check"`
	Level Level  `json:"status"`
	Seen  string `json:"seen"`
	Do    string `json:"do,omitempty"`
	// Cause is the likely cause of a difference to the user's shell.
	Cause string `json:"cause,omitempty"`
}

func fine(check, format string, args ...any) Finding {
	return Finding{Check: check, Level: OK, Seen: fmt.Sprintf(format, args...)}
}

func warn(check, do, format string, args ...any) Finding {
	return Finding{Check: check, Level: Warning, Seen: fmt.Sprintf(format, args...), Do: do}
}

func bad(check, do, format string, args ...any) Finding {
	return Finding{Check: check, Level: Problem, Seen: fmt.Sprintf(format, args...), Do: do}
}

// Options are the dependencies of the checks.
type Options struct {
	// Store is the state directory.
	Store store.Dir
	// Repo is the directory to check, Top the top of the repository that it is in.
	Repo, Top string
	// Project is a project file that the person names; nil for none.
	Project *configs.File
	// NATS is the URL of a server to check; empty means the built-in one.
	NATS string
	// Call allows one short call to each service of the project's models.
	Call bool
	// Hint returns the next step for an error, empty where the error names it.
	Hint func(error) string
	// Trust compares what the repository requests with the user's decision.
	Trust func(context.Context) Trust

	// leftovers are directories that no run needs.
	leftovers []string
}

// Trust holds the permission requests of a repository's files, and the decision about them.
type Trust struct {
	Requests []string
	Trusted  bool
	// State is a sentence about the decision, Err why it cannot be read.
	State string
	Err   error
}

// Findings runs every check and yields each finding as soon as it is known, until ctx ends.
func Findings(ctx context.Context, o Options) iter.Seq[Finding] {
	o.leftovers = o.Store.Leftovers(time.Now())
	checks := []func(context.Context) []Finding{
		checkGit, checkSandbox, o.checkBus, o.checkState, o.checkDisk, o.checkCaches, checkPrograms, o.checkProject, o.checkRuns,
	}
	return func(yield func(Finding) bool) {
		for _, check := range checks {
			for _, f := range check(ctx) {
				if !yield(f) {
					return
				}
			}
			if ctx.Err() != nil {
				return
			}
		}
	}
}
