package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console"
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
	code, _ := orchestrator.CodeOf(err)
	switch {
	case err == nil:
		return codeOK
	case errors.As(err, &end):
		return end.code
	case errors.As(err, new(*signalError)), errors.Is(err, context.Canceled):
		return codeStopped
	case coded[code].exit != 0:
		return coded[code].exit
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
	g.printer().fail(g.calls(worded(err)), exitCode(err))
}

// coded are the exit code of each code of an error, 0 for that of its class, and what a person can do next: the one place that
// knows which flag and which command that is.
var coded = map[string]struct {
	exit int
	next string
}{
	usage.Active:   {0, "End it first with: divisi cancel %s"},
	usage.Approval: {0, "Run in a terminal, or pass --yes"},
	usage.Began:    {0, "To remove the run: divisi runs rm %s"},
	usage.Damaged:  {0, "To save what landed: divisi publish %s"},
	usage.Dirty:    {0, "Commit or stash them, or start from the last commit without them: --base HEAD"},
	usage.Events: {0, "- save what landed: divisi publish %[1]s\n" +
		"- start again: divisi run\n- remove the run: divisi runs rm %[1]s"},
	usage.Goal:      {0, "Give it: divisi run \"GOAL\", or divisi run --plan FILE"},
	usage.Head:      {0, "Check out a branch, or name the commit: --base HEAD"},
	usage.Log:       {0, "See what it left: divisi log %s"},
	usage.Elsewhere: {0, "Name the repository that the run was submitted from: divisi publish %s --repo DIR"},
	usage.Joined:    {0, "It is reached with --on %s"},
	usage.Moved:     {0, "If it has moved: divisi resume %s --repo DIR"},
	usage.NoGates:   {0, "Or land changes without proof, with exit code 1: --allow-unverified"},
	usage.Role:      {0, "To do so: divisi retry %s TASK --role %s"},
	usage.Partial:   {0, "Or have a run fetch them for itself: answer yes in a terminal, or pass --yes"},
	usage.Person:    {0, "Ask the person to answer it: divisi decide %s %s OPTION"},
	usage.Running:   {0, "Stop it with: divisi pause %s"},
	usage.Server:    {0, "Check the address given with --nats or --on; without them Divisi brings its own server"},
	usage.Show:      {0, "See: divisi show %s"},
	usage.Snapshot:  {0, "To send it, but for files that can hold keys or credentials: --send-environment"},
	usage.Spent:     {0, "Give it more: divisi resume %s --budget %s"},
	usage.StateDir:  {0, "Choose another directory with --state-dir"},
	usage.Unproven: {0, "- have a setup proposed that brings what gates need: divisi init\n" +
		"- land changes without proof, with exit code 1: divisi resume %s --allow-unverified"},
	usage.Auth: {0, "Set the key to one that works: GEMINI_API_KEY, or the variable that the message names; " +
		"then: divisi resume"},
	usage.Branch: {0, "Rename it: git branch -m %s another-name"},
	usage.Denied: {0, "Choose a directory that you can write with --state-dir."},
	usage.Format: {0, "divisi publish, diff and take find what landed without the log; divisi runs rm removes the run."},
	usage.Full:   {0, "Free some space, or move the state with --state-dir. Then resume a run that had begun: divisi resume"},
	usage.Held:   {0, "Another process holds this run. Follow it with: divisi watch, or stop it with: divisi cancel."},
	usage.Key: {0, "Get a key at https://aistudio.google.com/apikey and set GEMINI_API_KEY. " +
		"`divisi demo` and plans of commands need none."},
	usage.Machine:     {0, "Free what the message names (disk, memory, processes, open files); then: divisi resume"},
	usage.NoCommits:   {0, "Commit first: git add -A && git commit"},
	usage.NoRepo:      {0, "Run in a clone of a repository, or name one with --repo DIR."},
	usage.NotApproved: {codeStopped, "Answer it with divisi decide, run in a terminal, or pass --yes"},
	usage.Preflight: {0, "If the cause is gone, such as a network that was down, try again: divisi resume. " +
		"Else fix it, commit,\n" +
		"and start a new run: this one keeps its commit, setup and gates; see .divisi/divisi.yaml.\n" +
		"divisi init proposes a setup and tries it; divisi doctor checks this machine."},
	usage.ReadOnly:    {0, "The result is a new branch there: make it writable for you, or work in a clone of it."},
	usage.ServerKeeps: {0, "To remove only its local files: divisi runs rm --local %s"},
	usage.Service: {0, "Check what the message names (a quota, a service, a recording) and your network, " +
		"then: divisi resume"},
}

// worded is an error with the next step. The text about an option begins with its name.
func worded(err error) string {
	text := err.Error()
	if isCode(err, usage.Option) {
		text = "--" + text
	}
	if hint := hintFor(err); hint != "" {
		text += "\n" + hint
	}
	return text
}

// hintFor returns the next step for an error that does not name it.
func hintFor(err error) string {
	switch {
	case toOutput(err):
		return "" // it is not the state that cannot be written
	case isCobraUsage(err) && !strings.Contains(err.Error(), "\nSee: "):
		return "See: divisi --help"
	}
	code, values := orchestrator.CodeOf(err)
	if code == usage.Over {
		return overHint(values)
	}
	next := coded[code].next
	if len(values) == 0 || next == "" {
		return next
	}
	values = slices.Clone(values)
	for i := range values {
		values[i] = text.Shell(fmt.Sprint(values[i]))
	}
	return fmt.Sprintf(next, values...)
}

// overHint lists what can be done about a run that has ended.
func overHint(ways []any) string {
	var b strings.Builder
	b.WriteString("What can be done now:\n")
	next := make([]console.Way, 0, len(ways))
	for _, w := range ways {
		if w, ok := w.(orchestrator.Way); ok {
			next = append(next, console.Way(w))
		}
	}
	console.Next(&b, next)
	return strings.TrimRight(b.String(), "\n")
}

func isCode(err error, code string) bool {
	is, _ := orchestrator.CodeOf(err)
	return is == code
}

// toOutput reports whether a standard stream failed, and not the state.
func toOutput(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && (at.Path == os.Stdout.Name() || at.Path == os.Stderr.Name())
}

// pipeClosed reports whether the reader of the output has closed it.
func pipeClosed(err error) bool { return errors.Is(err, syscall.EPIPE) && toOutput(err) }
