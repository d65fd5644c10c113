// Package command runs an attempt with a program: a codemod, or another agent's command line. Its input is an assignment and
// a prepared work tree, its output the attempt's result. It calls no model and writes no event.
package command

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"

	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/command/bill"
	"divisi/subagents/gate"
	"divisi/subagents/limit"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"
)

// MaxNames bounds, in bytes, the names in DIVISI_FILES: systems refuse to start a program with more, Linux from 128 KiB on.
const MaxNames = 120 << 10

// Tree is the work tree of an attempt that becomes a patch.
type Tree interface {
	// Save makes one commit on the attempt's head of what is in the tree and stores its pack; nil when nothing differs from
	// the head. A *workspace.ContentError is the command's mistake.
	Save(ctx context.Context) (*spec.Patch, error)
	// Diff is the difference to the head, as a unified diff of about limit bytes at most.
	Diff(ctx context.Context, limit int) (string, error)
}

// Executor carries an attempt out with a program: a codemod, or another agent's command line. The task is in its
// environment (DIVISI_RUN, DIVISI_TASK, DIVISI_ATTEMPT, DIVISI_ROLE, DIVISI_FILES one a line) and, whole, on its standard
// input as a Input.
type Executor struct {
	Assignment *wire.Assignment
	// Dir is the work tree; Env the environment that every command of the run has; Place, Writable and Readable what it may write
	// and read.
	Dir                string
	Env                []string
	Place              sandbox.Place
	Writable, Readable []string
	// Room finds what the machine lacks where the program has failed.
	Room machine.Rooms
	// Secrets are the variables of the role's secrets that are set: for this program alone.
	Secrets Secrets
	// Tree is nil where what the command leaves is not wanted. Lost then lists the files that it has changed nevertheless; it
	// may be nil.
	Tree Tree
	Lost func(context.Context) ([]string, error)
	// Held names what the git of the tree holds and its files do not show. It may be nil.
	Held     func(context.Context) (string, error)
	WriteSet spec.WriteSet
	Bounds   limit.Bounds
	// Tracked lists the files of the commit that the tree is of, its symbolic links too.
	Tracked func(context.Context) ([]string, error)
	// Remaining finds what of the task's shard still matches its rule; nil where it has none.
	Remaining func(context.Context) ([]string, error)
	// Doing is told the command, and then the last line of its output, often. It may be nil.
	Doing func(string)
	// Pay is told what a coding agent has used of each model, with its cost or price, however it ended, and when its work is
	// saved: what it has used may stop the run. It may be nil.
	Pay func(context.Context, []wire.Spent) error
	// Calls are shared by the gateways of roles that name one.
	Calls Calls

	service *service
	// given are the secrets that the program is given.
	given Secrets
	// links are the symbolic links among the files of the task.
	links []string
}

// Run carries the attempt out; the errors are those of Agent.Run. A delivery after the first starts again on a clean tree.
func (c *Executor) Run(ctx context.Context) (spec.Result, error) {
	var err error
	c.given = c.Secrets
	if c.service, err = c.openService(ctx); err != nil {
		return wire.Failed(wire.FaultCommand, err.Error(), ""), nil
	}
	defer c.service.close()
	if why := c.service.ready(ctx); why != nil && ctx.Err() != nil {
		return spec.Result{}, context.Cause(ctx)
	} else if why != nil {
		return wire.Failed(faultOf(why.Class), why.Message, ""), nil
	}
	ctx, cancel := c.Bounds.Deadline(ctx)
	defer cancel()
	var rep report
	r, err := c.carryOut(ctx, &rep)
	err = errors.Join(err, c.service.fault())
	r.Said, r.Unmetered = rep.words, rep.unmetered
	if unpaid := c.pay(ctx, rep.used); unpaid != nil {
		return spec.Result{}, errors.Join(err, unpaid)
	}
	return r, err
}

func (c *Executor) carryOut(ctx context.Context, rep *report) (spec.Result, error) {
	runs, why, err := c.runs(ctx)
	if err != nil {
		return spec.Result{}, fmt.Errorf("list the files of %s: %w", c.Assignment.Agent(), err)
	}
	if why == "" {
		why = c.Secrets.missing(&c.Assignment.Role)
	}
	if why != "" {
		return wire.Failed(wire.FaultCommand, why, ""), nil
	}
	for _, run := range runs {
		r, err := c.once(ctx, run, rep)
		if r != nil || err != nil {
			return *cmp.Or(r, &spec.Result{}), err
		}
	}
	r, err := c.ended(ctx, rep.said.String())
	r.Handoff.Deviations = slices.Concat(r.Handoff.Deviations, rep.deviations, c.leftOut())
	c.Secrets.hideIn(&r)
	return r, err
}

// once runs the command and notes what it said. The result is that of the attempt where the run ends it, else nil.
func (c *Executor) once(ctx context.Context, run commandRun, rep *report) (*spec.Result, error) {
	given := inputOf(c.Assignment)
	given.Files = list(run.files)
	reader := bill.NewReader(c.Assignment.Role.Usage)
	out, err := c.start(ctx, run, given, reader, c.said)
	printed := c.Secrets.hideInBill(reader.Bill())
	metered := c.service.gateway != nil || len(printed.Lines) > 0
	if c.service.gateway == nil {
		rep.used = append(rep.used, printed.Lines...)
	}
	rep.unmetered = rep.unmetered || out != nil && c.Assignment.Role.Usage != "" && !metered
	rep.words = cmp.Or(text.Tail(printed.Answer, maxOutput), rep.words)
	var r spec.Result
	switch cause := context.Cause(ctx); {
	case cause != nil:
		if r, err = c.interrupted(ctx, cause, out, printed.Fault); err != nil {
			return nil, err
		}
		return &r, nil
	case machine.Of(err, c.Dir) != nil:
		return nil, machine.Of(err, c.Dir)
	case err != nil:
		// It could not be started: the role's or the task's mistake, and the same wherever it is tried.
		r = wire.Failed(wire.FaultCommand, run.on(err.Error())+c.outside(ctx, run.args), "")
		return &r, nil
	}
	out.Head, out.Tail = c.Secrets.hideBytes(out.Head), c.Secrets.hideBytes(out.Tail) // before anything of it is cut off
	if how := howEnded(&c.Assignment.Role, run.args, out, printed); how != "" {
		how += refusals(out) + c.service.denied()
		detail := text.Tail(out.Text(), gate.MaxTail) + c.partial(ctx)
		r = wire.Failed(wire.FaultCommand, run.on(how)+c.outside(ctx, run.args), detail)
		if why := c.service.outside(); why != nil {
			r.Error.Class, r.Error.Message = faultOf(why.Class), why.Message
		}
		r.Patch = c.left(ctx)
		c.Secrets.hideIn(&r)
		return &r, nil
	}
	said := cmp.Or(printed.Answer, out.Text())
	if c.Assignment.Role.Usage != "" && printed.Empty() { // words for a person, such as a question, and no JSON
		rep.words = cmp.Or(text.Tail(strings.TrimSpace(said), maxOutput), rep.words)
	}
	if rep.said.Len() < gate.MaxTail {
		rep.said.WriteString(said)
	}
	if agent := c.Assignment.Role.Usage; agent != "" && !metered {
		rep.deviations = append(rep.deviations, run.on("its use is not known: its output has no figures of "+agent))
	}
	return nil, nil
}

// start runs the program once, with its input as JSON. Its output goes to sink, and to heard as it comes.
func (c *Executor) start(
	ctx context.Context, run commandRun, given any, sink io.Writer, heard func([]byte),
) (*sandbox.Output, error) {
	input, err := json.Marshal(given)
	if err != nil {
		return nil, fmt.Errorf("marshal the input of %s: %w", c.Assignment.Agent(), err)
	}
	c.doing("running " + text.Clip(strings.Join(run.args, " "), maxSaid))
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: run.args, Dir: c.Dir, Env: slices.Concat(c.Env, c.given, TaskEnv(c.Assignment, run.files)),
		Place: c.Place, Writable: c.Writable, Readable: c.Readable, Network: c.Assignment.Role.Network,
		Loopback: c.Assignment.Role.Loopback, Hosts: c.Assignment.Role.Hosts, Own: c.service.own(),
		Stdin: input, Timeout: c.Bounds.Left() + sandbox.DefaultGrace, OnOutput: heard, Sink: sink, MaxSink: math.MaxInt64,
	})
	if err != nil || !out.Success() {
		err = cmp.Or(c.Room.Lack(append([]string{c.Place.Temp, c.Dir}, c.Writable...)...), err)
	}
	return out, err
}

// args is the command. A role's secrets are for its own command alone, whatever the task says.
func (c *Executor) args() []string {
	if len(c.Assignment.Task.Command) > 0 && len(c.Assignment.Role.Secrets) == 0 {
		return c.Assignment.Task.Command
	}
	return c.Assignment.Role.Command
}

// maxSaid bounds, in bytes, what is shown of a command and of its newest line.
const maxSaid = 200

func (c *Executor) doing(what string) {
	if c.Doing != nil {
		c.Doing(strings.ToValidUTF8(what, "?"))
	}
}

// said shows the newest line of the output; that of a command with secrets stays hidden.
func (c *Executor) said(chunk []byte) {
	lines := strings.Split(strings.TrimSpace(string(chunk)), "\n")
	switch last := lines[len(lines)-1]; {
	case len(c.Secrets) > 0:
		c.doing("its output is not shown, because it has secrets")
	case last != "":
		c.doing(text.Tail(last, maxSaid))
	}
}

// ended makes the result of a command that came to its end, of what it said.
func (c *Executor) ended(ctx context.Context, said string) (spec.Result, error) {
	if c.Tree == nil {
		return c.looked(ctx, said), nil
	}
	patch, err := c.save(ctx)
	var content *workspace.ContentError
	if errors.As(err, &content) {
		return wire.Failed(wire.FaultCommand, content.Error(), ""), nil
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return c.interrupted(ctx, cause, nil, "")
		}
		return spec.Result{}, fmt.Errorf("collect the work of %s: %w", c.Assignment.Agent(), err)
	}
	return c.made(ctx, patch, said)
}

// save makes the patch of a command that came to its end. What a patch would lack is its mistake.
func (c *Executor) save(ctx context.Context) (*spec.Patch, error) {
	if c.Held != nil {
		held, err := c.Held(ctx)
		if err == nil && held != "" {
			err = &workspace.ContentError{Why: held}
		}
		if err != nil {
			return nil, err
		}
	}
	return c.Tree.Save(ctx)
}

// looked makes the result of a command that writes nothing: what it has written all the same is a deviation. It is listed in a
// time of its own, and a list that cannot be made is no failure of the command.
func (c *Executor) looked(ctx context.Context, said string) spec.Result {
	r := spec.Result{Status: spec.StatusDone, Handoff: spec.Handoff{Summary: text.Tail(said, gate.MaxTail)}}
	if c.Lost == nil {
		return r
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit.SaveTime)
	defer cancel()
	files, err := c.Lost(ctx)
	switch what := text.Some(files, maxLost); {
	case err != nil:
		r.Handoff.Deviations = append(r.Handoff.Deviations,
			"warning: its changes, if any, are lost, because its role says writes: false; the files could "+
				"not be listed: "+err.Error())
	case what != "":
		r.Handoff.Deviations = append(r.Handoff.Deviations,
			"warning: its changes are lost, because its role says writes: false: "+what)
	}
	return r
}

// maxLost bounds the files that a deviation names.
const maxLost = 5

// made makes the result of a command that came to its end, of its patch.
func (c *Executor) made(ctx context.Context, patch *spec.Patch, said string) (spec.Result, error) {
	r := spec.Result{Status: spec.StatusDone, Patch: patch, Handoff: spec.Handoff{Summary: summary(patch, said)}}
	if fault := wire.Refuse(c.WriteSet, patch); fault != nil {
		fault.Detail += c.partial(ctx) // such a patch is never imported: this is all that is left of it
		r.Status, r.Error = spec.StatusFailed, fault
		return r, nil
	}
	return c.matched(ctx, r)
}

// matched fails the attempt where files of the shard still match its rule, unless the task allows it: then the handoff names
// them.
func (c *Executor) matched(ctx context.Context, r spec.Result) (spec.Result, error) {
	if c.Remaining == nil {
		return r, nil
	}
	left, err := c.Remaining(ctx)
	if err != nil {
		if cause := context.Cause(ctx); cause != nil {
			return c.interrupted(ctx, cause, nil, "")
		}
		return spec.Result{}, fmt.Errorf("match the files of %s again: %w", c.Assignment.Agent(), err)
	}
	switch {
	case len(left) == 0:
	case c.Assignment.Task.Remaining == spec.RemainingOK:
		r.Handoff.Deviations = append(r.Handoff.Deviations, wire.StillMatches(left))
	default:
		r.Status, r.Error = spec.StatusFailed, &spec.Fault{
			Class: wire.FaultRemaining, Detail: wire.Bounded(left) + c.partial(ctx), Signatures: placeSignatures(left),
			Message: wire.StillMatches(left),
		}
	}
	return r, nil
}

// partial is the change of a failed command, for the next executor.
func (c *Executor) partial(ctx context.Context) string {
	if c.Tree == nil {
		return ""
	}
	diff, err := c.Tree.Diff(ctx, limit.MaxDiff)
	switch {
	case err != nil:
		return "\nWhat it had changed could not be read: " + err.Error()
	case diff == "":
		return ""
	}
	return wire.ChangedByThen + diff
}

// left is the patch of a command that failed, for the next executor of its chain; nil where there is none that its write set
// allows. Where it cannot be collected, the fault's detail has the reason.
func (c *Executor) left(ctx context.Context) *spec.Patch {
	if c.Tree == nil {
		return nil
	}
	patch, err := c.Tree.Save(ctx)
	if err != nil || wire.Refuse(c.WriteSet, patch) != nil {
		return nil
	}
	return patch
}

// interrupted returns how a command was interrupted. After a time-out the next executor is told what it had printed and
// changed; out is nil where there is no output. fault is what a coding agent has printed of one.
func (c *Executor) interrupted(ctx context.Context, cause error, out *sandbox.Output, fault string) (spec.Result, error) {
	end := limit.EndingOf(cause, c.Bounds)
	if end == nil {
		return spec.Result{}, cause
	}
	r := spec.Result{Status: end.Status, Error: &end.Fault}
	if end.Status == spec.StatusTimedOut {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit.SaveTime)
		defer cancel()
		heard := c.heard(out)
		if why := oneLine(cmp.Or(fault, gate.LastError(heard))); why != "" {
			r.Error.Message += ": " + why
		}
		r.Error.Message += refusals(out)
		r.Error.Detail = heard + c.partial(ctx)
	}
	c.Secrets.hideIn(&r)
	return r, nil
}

// heard is the end of a command's output, without its secrets: they are taken out before anything is cut off.
func (c *Executor) heard(out *sandbox.Output) string {
	if out == nil {
		return ""
	}
	out.Head, out.Tail = c.Secrets.hideBytes(out.Head), c.Secrets.hideBytes(out.Tail)
	return text.Tail(out.Text(), gate.MaxTail)
}

// summary reports what a command changed, and then what it said: that is how a command reports.
func summary(p *spec.Patch, output string) string {
	what := "nothing to change"
	if p != nil && len(p.Files) > 0 {
		what = fmt.Sprintf("%s changed, %s added, %d deleted", text.Count(len(p.Files), "file"), text.Count(p.Added, "line"),
			p.Deleted)
	}
	if said := strings.TrimSpace(output); said != "" {
		what += "\n" + text.Tail(said, maxOutput)
	}
	return what
}

// maxOutput bounds, in bytes, what a handoff keeps of a command's output.
const maxOutput = 4 << 10
