package cli

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
	"divisi/orchestrator/console/reports"
)

// The exit codes of every command.
const (
	CodeOK      = 0
	CodeParked  = 1
	CodeUsage   = 2
	CodeStopped = 3
	CodeMachine = 4
)

// EndError is the end of a run that is not a success; it was reported already.
type EndError struct {
	Code int
	Text string
}

func (e *EndError) Error() string { return e.Text }

// End ends a command with an exit code, and with a text where it is to say why.
func End(code int, text string) error { return &EndError{code, text} }

// SignalError is why a command ended that a signal stopped.
type SignalError struct{ Signal os.Signal }

func (e *SignalError) Error() string { return "stopped by signal " + e.Signal.String() }

// ExitCode is the one place where an error's class becomes an exit code.
func ExitCode(err error) int {
	var end *EndError
	code, _ := orchestrator.CodeOf(err)
	switch {
	case err == nil:
		return CodeOK
	case errors.As(err, &end):
		return end.Code
	case errors.As(err, new(*SignalError)), errors.Is(err, context.Canceled), code == usage.NotApproved:
		return CodeStopped
	case orchestrator.IsUsage(err), IsCobraUsage(err):
		return CodeUsage
	default:
		return CodeMachine
	}
}

// IsCobraUsage recognises the errors that cobra makes itself and gives no type.
func IsCobraUsage(err error) bool {
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

// PrintError is the one place where an error becomes words.
func PrintError(g *Globals, err error) {
	var end *EndError
	if err == nil || (errors.As(err, &end) && end.Text == "") {
		return
	}
	g.printer().fail(g.Calls(Worded(err)), ExitCode(err))
}

// Coded is the next step of a person for each code of an error: the one place that knows which flag and which command that is.
var Coded = map[string]string{
	usage.Active:   "End it first with: divisi cancel %s",
	usage.Approval: "Run in a terminal, or pass --yes",
	usage.Began:    "To remove the run: divisi runs rm %s",
	usage.Damaged:  "To save what landed: divisi publish %s",
	usage.Dirty:    "Commit or stash them, or start from the last commit without them: --base HEAD",
	usage.Events: "- save what landed: divisi publish %[1]s\n" +
		"- start again: divisi run\n- remove the run: divisi runs rm %[1]s",
	usage.Goal:      "Give it: divisi run \"GOAL\", or divisi run --plan FILE",
	usage.Head:      "Check out a branch, or name the commit: --base HEAD",
	usage.Log:       "See its output: divisi log %s",
	usage.Login:     "To agree: divisi trust --agent %s",
	usage.Elsewhere: "Name the repository that the run was submitted from: divisi publish %s --repo DIR",
	usage.Joined:    "It is reached with --on %s",
	usage.Moved:     "If it has moved: divisi resume %s --repo DIR",
	usage.NoGates:   "Or land changes without proof, with exit code 1: --allow-unverified",
	usage.Role:      "To do so: divisi retry %s TASK --role %s",
	usage.Partial:   "Or have a run fetch them for itself: answer yes in a terminal, or pass --yes",
	usage.Person:    "Ask the person to answer it: divisi decide %s %s OPTION",
	usage.Running:   "Stop it with: divisi pause %s",
	usage.Server:    "Check the address given with --nats or --on; without them Divisi brings its own server",
	usage.Show:      "See: divisi show %s",
	usage.Snapshot:  "To send it, but for files that can hold keys or credentials: --send-environment",
	usage.Spent:     "Give it more: divisi resume %s --budget %s",
	usage.StateDir:  "Choose another directory with --state-dir",
	usage.Unproven: "- detect a setup for the gates: divisi init\n" +
		"- land changes without proof, with exit code 1: divisi resume %s --allow-unverified",
	usage.Auth: "Set the key to one that works: GEMINI_API_KEY, or the variable that the message names; " +
		"then: divisi resume",
	usage.Branch: "Rename it: git branch -m %s another-name",
	usage.Denied: "Choose a directory that you can write with --state-dir.",
	usage.Format: "divisi publish, diff and take find landed commits without the log; divisi runs rm removes the run.",
	usage.Full:   "Free some space, or move the state with --state-dir. Then resume a run that had begun: divisi resume",
	usage.Held:   "Another process holds this run. Follow it with: divisi watch, or stop it with: divisi cancel.",
	usage.Key: "Get a key at https://aistudio.google.com/apikey and set GEMINI_API_KEY. " +
		"`divisi demo` and plans of commands need none.",
	usage.Machine:     "Free the named resource (disk, memory, processes, open files); then: divisi resume",
	usage.NoCommits:   "Commit first: git add -A && git commit",
	usage.NoRepo:      "Run in a clone of a repository, or name one with --repo DIR.",
	usage.NotApproved: "Answer it with divisi decide, run in a terminal, or pass --yes",
	usage.Preflight: "If the cause is gone, such as a network that was down, try again: divisi resume. " +
		"Else fix it, commit,\n" +
		"and start a new run: this one keeps its commit, setup and gates; see .divisi/divisi.yaml.\n" +
		"divisi init proposes a setup and tries it; divisi doctor checks this machine.",
	usage.ReadOnly:    "The result is a new branch there: make it writable for you, or work in a clone of it.",
	usage.ServerKeeps: "To remove only its local files: divisi runs rm --local %s",
	usage.Service:     "Check the named quota, service or recording and your network, then: divisi resume",
}

// Worded is an error with the next step. The text about an option begins with its name.
func Worded(err error) string {
	text := err.Error()
	if IsCode(err, usage.Option) {
		text = "--" + text
	}
	if hint := HintFor(err); hint != "" {
		text += "\n" + hint
	}
	return text
}

// HintFor returns the next step for an error that does not name it.
func HintFor(err error) string {
	switch {
	case toOutput(err):
		return "" // it is not the state that cannot be written
	case IsCobraUsage(err) && !strings.Contains(err.Error(), "\nSee: "):
		return "See: divisi --help"
	}
	code, values := orchestrator.CodeOf(err)
	if code == usage.Over {
		return overHint(values)
	}
	next := Coded[code]
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
	var next []orchestrator.Way
	for _, w := range ways {
		if w, ok := w.(orchestrator.Way); ok {
			next = append(next, w)
		}
	}
	reports.Next(&b, next, 0)
	return strings.TrimRight(b.String(), "\n")
}

// IsCode reports whether an error has a code of package usage.
func IsCode(err error, code string) bool {
	is, _ := orchestrator.CodeOf(err)
	return is == code
}

// toOutput reports whether a standard stream failed, and not the state.
func toOutput(err error) bool {
	var at *fs.PathError
	return errors.As(err, &at) && (at.Path == os.Stdout.Name() || at.Path == os.Stderr.Name())
}

// PipeClosed reports whether the reader of the output has closed it.
func PipeClosed(err error) bool { return errors.Is(err, syscall.EPIPE) && toOutput(err) }
