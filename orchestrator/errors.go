package orchestrator

import (
	"errors"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/usage"
	"divisi/orchestrator/plan"
	"divisi/subagents/wire"
)

// ErrClosed reports that Wait or Close has released the run before its events were read to the end.
var ErrClosed = errors.New("the run is released")

// IsUsage reports whether an error is a mistake of the caller or in a file, and not a failure of the machine or of a service. The
// caller has to change something, or to wait for another process that holds the run.
func IsUsage(err error) bool {
	for _, e := range []error{
		git.ErrNotRepository, git.ErrBare, git.ErrNoCommits, git.ErrOwner, git.ErrUnsupported, git.ErrReadOnly, git.ErrDamaged,
		ErrNotTrusted,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	var fault *model.Error
	// No key was given at all, or an address that is none.
	unsent := errors.As(err, &fault) && (fault.Class == model.Auth || fault.Class == model.Invalid) && fault.Status == 0
	return unsent || errors.As(err, new(*usage.Error)) || errors.As(err, new(*configs.FileError)) ||
		errors.As(err, new(*wire.FormatError)) || errors.As(err, new(*plan.Error)) ||
		errors.As(err, new(*bus.LockedError)) || errors.As(err, new(*git.BranchError))
}
