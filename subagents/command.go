package subagents

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// CommandInput is what a role's command reads on its standard input, as one JSON object:
//
//	{"task": {...}, "attempt": 2, "files": ["a.go"], "constraints": ["..."], "decision_record": "...", "goal": "...",
//	 "inputs": [{"task": "survey", "role": "reader", "handoff": {"summary": "..."}}],
//	 "prior": [{"attempt": 1, "fault": {"class": "gate", "message": "...", "detail": "..."}, "diff": "..."}],
//	 "message": "This task was handed over to you by ..."}
//
// The command works in the current directory, a clean tree of the integration head. When it exits with 0, what it left there
// is its patch. Lists are never null.
type CommandInput struct {
	Task           spec.Task    `json:"task"`
	Attempt        int          `json:"attempt"`
	Files          []string     `json:"files"`
	Constraints    []string     `json:"constraints"`
	DecisionRecord string       `json:"decision_record"`
	Goal           string       `json:"goal"`
	Inputs         []wire.Input `json:"inputs"`
	Prior          []wire.Prior `json:"prior"`
	// Message is what the agent that handed the task over has left; "" where none did.
	Message string `json:"message"`
}

func commandInput(a *wire.Assignment) CommandInput {
	return CommandInput{
		Task: a.Task, Attempt: a.Attempt, Files: list(a.Task.Files), Constraints: list(a.Task.Constraints),
		DecisionRecord: a.DecisionRecord, Goal: a.Goal, Inputs: list(a.Inputs), Prior: list(a.Prior),
		Message: a.Message,
	}
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// maxEnv bounds, in bytes, the names in DIVISI_FILES: systems refuse to start a program with more, Linux from 128 KiB on.
const maxEnv = 120 << 10

// commandTail bounds, in bytes, the output that a failed command's fault keeps.
const commandTail = 8 << 10

// CommandExecutor carries an attempt out with a program: a codemod, or another agent's command line. The task is in its
// environment (DIVISI_RUN, DIVISI_TASK, DIVISI_ATTEMPT, DIVISI_ROLE, DIVISI_FILES one a line) and, whole, on its standard
// input as a CommandInput.
type CommandExecutor struct {
	Assignment *wire.Assignment
	// Dir is the work tree; Env the environment that every command of the run has; Place, Writable and Readable what it may write
	// and read.
	Dir                string
	Env                []string
	Place              sandbox.Place
	Writable, Readable []string
	// Secrets are the variables of the role's secrets that are set: for this program alone.
	Secrets secrets
	// Tree is nil where what the command leaves is not wanted.
	Tree     Tree
	WriteSet spec.WriteSet
	Bounds   Bounds
	// Remaining finds what of the task's shard still matches its rule; nil where it has none.
	Remaining func(context.Context) ([]string, error)
	// Doing is told the last line of the command's output, often. It may be nil.
	Doing func(string)
}

// Run carries the attempt out; the errors are those of Agent.Run. A delivery after the first starts anew on a clean tree.
func (c *CommandExecutor) Run(ctx context.Context) (spec.Result, error) {
	ctx, cancel := c.Bounds.deadline(ctx)
	defer cancel()
	runs, why, err := c.runs()
	if err != nil {
		return spec.Result{}, fmt.Errorf("list the files of %s: %w", c.Assignment.Agent(), err)
	}
	if why == "" {
		why = c.Secrets.missing(&c.Assignment.Role)
	}
	if why != "" {
		return failure(wire.FaultCommand, why, ""), nil
	}
	var said strings.Builder
	for _, run := range runs {
		r, err := c.once(ctx, run, &said)
		if r != nil || err != nil {
			return *cmp.Or(r, &spec.Result{}), err
		}
	}
	r, err := c.ended(ctx, said.String())
	c.Secrets.hideIn(&r)
	return r, err
}

// once runs the command and notes what it said. The result is that of the attempt where the run ends it, else nil.
func (c *CommandExecutor) once(ctx context.Context, run commandRun, said *strings.Builder) (*spec.Result, error) {
	given := commandInput(c.Assignment)
	given.Files = list(run.files)
	input, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("marshal the input of %s: %w", c.Assignment.Agent(), err)
	}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: run.args, Dir: c.Dir, Env: slices.Concat(c.Env, c.Secrets, taskEnv(c.Assignment, run.files)),
		Place: c.Place, Writable: c.Writable, Readable: c.Readable, Network: c.Assignment.Role.Network,
		Loopback: c.Assignment.Role.Loopback,
		Stdin:    input, Timeout: c.Bounds.left() + sandbox.DefaultGrace, OnOutput: c.said,
	})
	if err == nil && !out.Success() {
		err = machine.Room(append([]string{c.Place.Temp, c.Dir}, c.Writable...)...)
	}
	var r spec.Result
	switch cause := context.Cause(ctx); {
	case cause != nil:
		if r, err = c.interrupted(ctx, cause, out); err != nil {
			return nil, err
		}
		return &r, nil
	case machine.Of(err, c.Dir) != nil:
		return nil, machine.Of(err, c.Dir)
	case err != nil:
		// It could not be started: the role's or the task's mistake, and the same wherever it is tried.
		r = failure(wire.FaultCommand, run.on(err.Error()), "")
		return &r, nil
	}
	out.Head, out.Tail = c.Secrets.hideBytes(out.Head), c.Secrets.hideBytes(out.Tail) // before anything of it is cut off
	if !out.Success() {
		r = failure(wire.FaultCommand, run.on(howEnded(run.args, out)), clip(out.Text(), commandTail)+c.partial(ctx))
		c.Secrets.hideIn(&r)
		return &r, nil
	}
	if said.Len() < commandTail {
		said.WriteString(out.Text())
	}
	return nil, nil
}

// args is the command. A role's secrets are for its own command alone, whatever the task says.
func (c *CommandExecutor) args() []string {
	if len(c.Assignment.Task.Command) > 0 && len(c.Assignment.Role.Secrets) == 0 {
		return c.Assignment.Task.Command
	}
	return c.Assignment.Role.Command
}

func (c *CommandExecutor) said(chunk []byte) {
	if c.Doing == nil {
		return
	}
	if len(c.Secrets) > 0 {
		c.Doing("at work; what it says is not shown, because it has secrets")
		return
	}
	lines := strings.Split(strings.TrimSpace(string(chunk)), "\n")
	if last := lines[len(lines)-1]; last != "" {
		c.Doing(strings.ToValidUTF8(clip(last, 200), "?"))
	}
}

// ended makes the result of a command that came to its end, of what it said.
func (c *CommandExecutor) ended(ctx context.Context, said string) (spec.Result, error) {
	if c.Tree == nil {
		return spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{Summary: clip(said, commandTail)}}, nil
	}
	patch, err := c.Tree.Save(ctx)
	var content *workspace.ContentError
	if errors.As(err, &content) {
		return failure(wire.FaultCommand, content.Error(), ""), nil
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return c.interrupted(ctx, cause, nil)
		}
		return spec.Result{}, fmt.Errorf("collect the work of %s: %w", c.Assignment.Agent(), err)
	}
	r := spec.Result{Status: spec.StatusDone, Patch: patch, Handoff: spec.Handoff{Summary: summary(patch, said)}}
	if fault := refuse(c.WriteSet, patch); fault != nil {
		fault.Detail += c.partial(ctx) // nobody takes such a patch in, so that this is all that is ever seen of it
		r.Status, r.Error = spec.StatusFailed, fault
		return r, nil
	}
	return c.matched(ctx, r)
}

// matched fails the attempt where files of the shard still match its rule, unless the task allows it: then the handoff names
// them.
func (c *CommandExecutor) matched(ctx context.Context, r spec.Result) (spec.Result, error) {
	if c.Remaining == nil {
		return r, nil
	}
	left, err := c.Remaining(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return c.interrupted(ctx, cause, nil)
		}
		return spec.Result{}, fmt.Errorf("match the files of %s again: %w", c.Assignment.Agent(), err)
	}
	switch {
	case len(left) == 0:
	case c.Assignment.Task.Remaining == spec.RemainingOK:
		r.Handoff.Deviations = append(r.Handoff.Deviations, stillMatches(left))
	default:
		r.Status, r.Error = spec.StatusFailed, &spec.Fault{
			Class: wire.FaultRemaining, Detail: bounded(left) + c.partial(ctx), Signatures: placeSignatures(left),
			Message: stillMatches(left),
		}
	}
	return r, nil
}

// partial is what a command that failed had changed: whoever takes over is told.
func (c *CommandExecutor) partial(ctx context.Context) string {
	if c.Tree == nil {
		return ""
	}
	diff, err := c.Tree.Diff(ctx, maxDiff)
	switch {
	case err != nil:
		return "\nWhat it had changed could not be read: " + err.Error()
	case diff == "":
		return ""
	}
	return "\nWhat it had changed by then:\n" + diff
}

// interrupted is how a command was broken off. Whoever takes over from one that ran out of time is told what it had said and
// changed; out is nil where there is no output.
func (c *CommandExecutor) interrupted(ctx context.Context, cause error, out *sandbox.Output) (spec.Result, error) {
	end := endingOf(cause, c.Bounds)
	if end == nil {
		return spec.Result{}, cause
	}
	r := spec.Result{Status: end.status, Error: &end.fault}
	if end.status == spec.StatusTimedOut {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), saveTime)
		defer cancel()
		r.Error.Detail = c.heard(out) + c.partial(ctx)
	}
	c.Secrets.hideIn(&r)
	return r, nil
}

// heard is the end of a command's output, without its secrets: they are taken out before anything is cut off.
func (c *CommandExecutor) heard(out *sandbox.Output) string {
	if out == nil {
		return ""
	}
	out.Head, out.Tail = c.Secrets.hideBytes(out.Head), c.Secrets.hideBytes(out.Tail)
	return clip(out.Text(), commandTail)
}

func howEnded(args []string, out *sandbox.Output) string {
	switch {
	case out.OutOfMemory:
		return fmt.Sprintf("%s was %s", args[0], outOfMemory)
	case out.Signal != "":
		return fmt.Sprintf("%s was ended by signal %s", args[0], out.Signal)
	default:
		text := fmt.Sprintf("%s exited with %d", args[0], out.ExitCode)
		if line := gate.FirstError(out.Text()); line != "" {
			text += ": " + line
		}
		return text
	}
}

// summary tells what a command changed, and then what it said: that is how a command reports to whoever asked.
func summary(p *spec.Patch, output string) string {
	text := "nothing to change"
	if p != nil && len(p.Files) > 0 {
		text = fmt.Sprintf("%d files changed, %d lines added, %d deleted", len(p.Files), p.Added, p.Deleted)
	}
	if said := strings.TrimSpace(output); said != "" {
		text += "\n" + clip(said, maxOutput)
	}
	return text
}

// maxOutput bounds, in bytes, what a handoff keeps of a command's output.
const maxOutput = 4 << 10

// taskEnv is the task in a command's environment. Values cannot hold a zero byte; such a file name is left to stdin.
func taskEnv(a *wire.Assignment, files []string) []string {
	env := []string{
		"DIVISI_RUN=" + a.Run, "DIVISI_TASK=" + a.Task.ID, "DIVISI_ATTEMPT=" + strconv.Itoa(a.Attempt),
		"DIVISI_ROLE=" + a.Role.Name, "DIVISI_FILES=" + strings.Join(files, "\n"),
	}
	for i, e := range env {
		env[i] = strings.ReplaceAll(e, "\x00", "")
	}
	return env
}

func failure(class, message, detail string) spec.Result {
	return spec.Result{Status: spec.StatusFailed, Error: &spec.Fault{Class: class, Message: message, Detail: detail}}
}

// maxRefused is how many refused paths a fault lists.
const maxRefused = 20

// refuse returns the fault of a patch that touches what it may not, or nil.
func refuse(set spec.WriteSet, patch *spec.Patch) *spec.Fault {
	if patch == nil {
		return nil
	}
	var reasons []string
	for _, name := range patch.Files {
		if why := set.Refuse(name); why != "" {
			reasons = append(reasons, why)
		}
	}
	if len(reasons) == 0 {
		return nil
	}
	return &spec.Fault{
		Class:   wire.FaultWriteSet,
		Message: fmt.Sprintf("%d of %d changed files are not the task's to change", len(reasons), len(patch.Files)),
		Detail:  bounded(reasons),
	}
}

// bounded writes the first of the lines, and how many more there are.
func bounded(lines []string) string {
	if n := len(lines) - maxRefused; n > 0 {
		lines = append(slices.Clone(lines[:maxRefused]), fmt.Sprintf("and %d more", n))
	}
	return strings.Join(lines, "\n")
}
