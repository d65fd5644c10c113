// Package fault classifies errors for a caller. Its input is an error of any package, its output whether the caller is to change
// something, and a code to which a program adds words of its own. It makes no errors.
package fault

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"syscall"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/recovery"
	"divisi/subagents/wire"
)

// ErrNotTrusted reports that the repository's files request what no person agreed to.
var ErrNotTrusted = errors.New("the repository is not trusted")

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
		errors.As(err, new(*wire.FormatError)) || errors.As(err, new(*spec.PlanError)) ||
		errors.As(err, new(*bus.LockedError)) || errors.As(err, new(*git.BranchError)) ||
		errors.As(err, new(*git.PartialError)) || errors.As(err, new(*git.SparseError))
}

// CodeOf returns what an error is about, for a program that adds its own words about what to do next, and the values that those
// need: package usage lists both. It is "" for an error that has none, or whose text has the next step.
func CodeOf(err error) (code string, values []any) {
	var fault *model.Error
	var branch *git.BranchError
	if code, values = usage.CodeOf(err); code != "" {
		return code, values
	}
	switch {
	case errors.As(err, new(*sandbox.WeakError)):
		return "", nil
	case errors.As(err, new(*bus.LockedError)):
		return usage.Held, nil
	case errors.As(err, new(*wire.FormatError)):
		return usage.Format, nil
	case errors.As(err, new(*git.PartialError)):
		return usage.Partial, nil
	case errors.As(err, &branch):
		return usage.Branch, []any{branch.Branch}
	}
	for _, c := range sentinels {
		if errors.Is(err, c.err) {
			return c.code, nil
		}
	}
	switch {
	case errors.As(err, &fault) && fault.Class == model.Auth:
		return usage.Key, nil
	case FullDisk(err):
		return usage.Full, nil
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return usage.Denied, nil
	case errors.Is(err, phase.ErrPreflight):
		return usage.Preflight, nil
	}
	return "", nil
}

// sentinels are the codes of errors without values; the first that is met counts.
var sentinels = []struct {
	err  error
	code string
}{
	{git.ErrNotRepository, usage.NoRepo},
	{git.ErrReadOnly, usage.ReadOnly},
	{git.ErrNoCommits, usage.NoCommits},
	{recovery.ErrAuth, usage.Auth},
	{recovery.ErrService, usage.Service},
	{conductor.ErrNotApproved, usage.NotApproved},
	{conductor.ErrMachine, usage.Machine},
	{bus.ErrNoOwner, usage.NoOwner},
}

// FullDisk recognises a full disk also in the texts of git and of the message server, which have no type for it.
func FullDisk(err error) bool {
	if err == nil {
		return false
	}
	said := strings.ToLower(err.Error())
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, bus.ErrFull) ||
		strings.Contains(said, "no space left on device") || strings.Contains(said, "out of diskspace")
}

// Signalled makes the cause of a context that ends by a signal which is not Ctrl-C: a run tells so.
func Signalled(err error) error { return fmt.Errorf("%w: %w", conductor.ErrSignal, err) }
