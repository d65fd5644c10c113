package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/sandbox"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/console"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/store"
)

// The exit codes of every command.
const (
	codeOK      = 0
	codeParked  = 1
	codeUsage   = 2
	codeStopped = 3
	codeMachine = 4
)

// usageError is a person's mistake, with what to do about it.
type usageError = usage.Error

func usagef(format string, args ...any) error { return usage.Errorf(format, args...) }

// endError is the end of a run that is not a success; it was reported already.
type endError struct {
	code int
	text string
}

func (e *endError) Error() string { return e.text }

type signalError struct{ signal os.Signal }

func (e *signalError) Error() string { return "stopped by signal " + e.signal.String() }

// exitCode is the one place where an error's class becomes an exit code.
func exitCode(err error) int {
	var end *endError
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &end):
		return end.code
	case errors.As(err, new(*signalError)), errors.Is(err, context.Canceled), errors.Is(err, conductor.ErrNotApproved):
		return codeStopped
	case orchestrator.IsUsage(err), isCobraUsage(err):
		return codeUsage
	default:
		return codeMachine
	}
}

// isCobraUsage recognises the errors that cobra makes itself and gives no type.
func isCobraUsage(err error) bool {
	for _, p := range []string{
		"unknown command", "accepts ", "requires ", "unknown flag", "unknown shorthand", "required flag", "invalid argument",
		"if any flags in the group",
	} {
		if strings.HasPrefix(err.Error(), p) {
			return true
		}
	}
	return false
}

// report is the one place where an error becomes words.
func printError(g *globals, err error) {
	var end *endError
	if err == nil || (errors.As(err, &end) && end.text == "") {
		return
	}
	text := err.Error()
	if hint := hintFor(err); hint != "" {
		text += "\n" + hint
	}
	text = g.calls(text)
	if g.output == "json" {
		line, merr := json.Marshal(map[string]any{"error": text, "exit_code": exitCode(err)})
		if merr == nil {
			fmt.Fprintln(g.err, string(line))
			return
		}
	}
	fmt.Fprintln(g.err, "divisi: "+strings.ReplaceAll(console.Visible(text), "\n", "\n  "))
}

// hintFor returns the next step for an error that does not name it.
func hintFor(err error) string {
	var locked *bus.LockedError
	var fault *model.Error
	var branch *git.BranchError
	switch {
	case errors.As(err, new(*sandbox.WeakError)), toOutput(err):
		return "" // the error names the next step; the kernel reports several limits as a full device
	case errors.As(err, &locked):
		return "Another process holds this run. Follow it with: divisi watch, or stop it with: divisi cancel."
	case errors.As(err, new(*store.FormatError)):
		return "divisi publish, diff and take find what landed without the log; divisi runs rm removes the run."
	case isCobraUsage(err) && !strings.Contains(err.Error(), "\nSee: "):
		return "See: divisi --help"
	case errors.Is(err, git.ErrNotRepository):
		return "Run in a clone of a repository, or name one with --repo DIR."
	case errors.Is(err, git.ErrReadOnly):
		return "The result is a new branch there: make it writable for you, or work in a clone of it."
	case errors.As(err, &branch):
		return "Rename it: git branch -m " + text.Shell(branch.Branch) + " another-name"
	case errors.Is(err, git.ErrNoCommits):
		return "Commit first: git add -A && git commit"
	case errors.Is(err, recovery.ErrAuth):
		return "Set the key to one that works: GEMINI_API_KEY, or the variable that the message names; then: divisi resume"
	case errors.Is(err, recovery.ErrService):
		return "Check what the message names (a quota, a service, a recording) and your network, then: divisi resume"
	case errors.As(err, &fault) && fault.Class == model.Auth:
		return "Get a key at https://aistudio.google.com/apikey and set GEMINI_API_KEY. " +
			"`divisi demo` and plans of commands need none."
	case errors.Is(err, conductor.ErrMachine):
		return "Free what the message names (disk, memory, processes, open files); then: divisi resume"
	case fullDisk(err):
		return "Free some space, or move the state with --state-dir. Then resume a run that had begun: divisi resume"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.EROFS), errors.Is(err, syscall.ENOTDIR):
		return "Choose a directory that you can write with --state-dir."
	case errors.Is(err, phase.ErrPreflight):
		return "If the cause is gone, such as a network that was down, try again: divisi resume. Else fix it, commit,\n" +
			"and start a new run: this one keeps its commit, setup and gates; see .divisi/divisi.yaml.\n" +
			"divisi init proposes a setup and tries it; divisi doctor checks this machine."
	default:
		return ""
	}
}

// toOutput reports whether a standard stream failed, and not the state.
func toOutput(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && (at.Path == os.Stdout.Name() || at.Path == os.Stderr.Name())
}

// pipeClosed reports whether the reader of the output has closed it.
func pipeClosed(err error) bool { return errors.Is(err, syscall.EPIPE) && toOutput(err) }

// fullDisk recognises a full disk also in the texts of git and of the message server, which have no type for it.
func fullDisk(err error) bool {
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, bus.ErrFull) {
		return true
	}
	for _, words := range []string{"no space left on device", "out of diskspace"} {
		if strings.Contains(strings.ToLower(err.Error()), words) {
			return true
		}
	}
	return false
}
