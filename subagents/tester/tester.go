// Package tester proves a clean tree with the gates of its task. Its input is an assignment and a prepared work tree, its output
// the attempt's result with a receipt for each gate that ran. It never changes the tree that it proves.
package tester

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"divisi/contextscope"
	"divisi/internal/egress"
	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/finding"
	"divisi/subagents/gate"
	"divisi/subagents/gate/testnames"
	"divisi/subagents/grade"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/service"
	"divisi/subagents/wire"
)

// Executor proves what is in a clean tree: it runs the gates of the task, judges each against the baseline and leaves a receipt
// for each that ran. Receipts that an earlier delivery left on the same tree count. It serves baselines, batches and final gates
// alike. A patch that a role judges has no gate runs here.
type Executor struct {
	Assignment *wire.Assignment
	Journal    *journal.Journal
	Objects    journal.Objects
	// Dir is the work tree with the patch in it, Tree the id of what it holds.
	Dir, Tree string
	// Restore takes back what a gate changed of the files that are tested, and returns their paths: the next gate is to test the
	// tree that lands.
	Restore func(ctx context.Context) ([]string, error)
	// Even gives all files of the tree one time, as after a clone.
	Even func(ctx context.Context) error
	// Fresh prepares one command, a gate or the setup.
	Fresh func(sandbox.Audience) (Ground, error)
	// Environments keeps what setups leave; Places and Caches are what a setup fills. Digest names the environment in receipts.
	Environments *environment.Store
	// Under is what lies below the tree, once there is a setup; Elsewhere reports that another machine conducts the run.
	Under     *environment.Environment
	Elsewhere bool
	Places    Places
	Caches    sandbox.Caches
	Digest    func() (string, error)
	// Beside stands for what trees have of the user's checkout beside the files that git stores; empty for nothing.
	Beside string
	// Blobs returns the ids of the files of the commit by their paths, Outline what is seen of all without opening one, Read the
	// content of one.
	Blobs   func(ctx context.Context) (map[string]string, error)
	Outline func(ctx context.Context) (string, error)
	Read    func(ctx context.Context, path string) ([]byte, error)
	// Changed returns the paths in which the tested commit differs from another one, such as Origin, the base commit of the run;
	// ReadAt returns the content of a file of such a commit, nil where that has none.
	Origin  string
	Changed func(ctx context.Context, since string) ([]string, error)
	ReadAt  func(ctx context.Context, commit, path string) ([]byte, error)
	// Environ is the user's environment; setup is given its settings for downloads.
	Environ []string
	// Outputs is the directory that keeps the whole output of what failed, for people; empty for none.
	Outputs string
	Limiter *gate.Limiter
	Bounds  limit.Bounds
	// Room finds what the machine lacks where a command has failed.
	Room machine.Rooms
	// Services is the input of the project's services.
	Services func() (service.Config, error)
	// Pauses are how long a setup waits, each before one more try, for a service that may be away.
	Pauses []time.Duration
	// Doing is told what runs. It may be nil.
	Doing func(string)
	// Worker is the name of this worker, Sign makes a receipt one of it.
	Worker string
	Sign   func(*spec.Receipt) error
	// Foreign handles an attempt without a baseline of this environment, whose digest it gets; nil where only a baseline that is
	// made again can be compared.
	Foreign func(ctx context.Context, environment string) (spec.Result, error)
	// Judge has a patch judged in place of the gates; nil where the gates decide.
	Judge func(ctx context.Context) (spec.Result, error)

	// environment is the result of Digest.
	environment string
	// used is the network use of the newest setup.
	used egress.Use
	// noted are hints about the setup, and about gates that changed the tree.
	noted []string
	// services are those of this try; nil for none.
	services *service.Set
	// files are the changed files of the tree, once they are known; asked are gates for which a question about some is open.
	files *[]grade.File
	asked []asked
	// madeOf are the changed files that the setup has made derived places again from; nil where it has not.
	madeOf map[string]bool
	// unproven are changed files that setup reads, and that it was not run with.
	unproven []spec.Unread
	// hindered is why gates cannot prove the tree; nil where they can.
	hindered *hindrance
}

// Ground holds the views and directories of a command.
type Ground struct {
	Env                []string
	Place              sandbox.Place
	Writable, Readable []string
}

// Run carries the attempt out; the errors are those of Agent.Run.
func (t *Executor) Run(ctx context.Context) (spec.Result, error) {
	if t.Judge != nil {
		return t.Judge(ctx)
	}
	return t.gates(ctx)
}

// gates runs the gates within the attempt's time.
func (t *Executor) gates(ctx context.Context) (spec.Result, error) {
	ctx, cancel := t.Bounds.Deadline(ctx)
	defer cancel()
	r, err := t.prove(ctx)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		end := limit.EndingOf(cause, t.Bounds)
		if end == nil {
			return spec.Result{}, errors.Join(cause, err)
		}
		return spec.Result{Status: end.Status, Error: &end.Fault}, nil
	}
	return r, err
}

func (t *Executor) prove(ctx context.Context) (spec.Result, error) {
	gates, unknown := GatesOf(t.Assignment)
	if len(unknown) > 0 {
		return wire.Failed(wire.FaultAssignment, "the project has no gate "+strings.Join(unknown, ", "), ""), nil
	}
	e, bad, err := t.Setup(ctx)
	if bad != nil || err != nil {
		return *cmp.Or(bad, &spec.Result{}), err
	}
	if t.environment, err = t.Digest(); err != nil {
		return spec.Result{}, err
	}
	if own, known := t.Assignment.Others[t.environment]; known {
		t.Assignment.Baseline = own
	}
	if gate := t.outdated(); gate != "" && t.Foreign != nil {
		return t.Foreign(ctx, t.environment)
	} else if gate != "" {
		return wire.Failed(wire.FaultOutdated, fmt.Sprintf("gate %s ran on the base commit in another environment: programs or "+
			"settings of this machine have changed since, and the gates must run there again", gate), ""), nil
	}
	if t.hindered, err = t.dependencies(ctx); err != nil {
		return spec.Result{}, err
	}
	end, failed, err := t.serve(ctx)
	defer end()
	if err != nil {
		return spec.Result{}, err
	}
	if failed != nil && t.Assignment.Base {
		return unserviceable(failed), nil
	}
	t.hindered = cmp.Or(t.hindered, ofService(failed))
	receipts, skipped := make([]spec.Receipt, 0, len(gates)), []string{}
	for i, g := range gates {
		if t.failsToo(g, receipts) {
			skipped = append(skipped, g.Name)
			continue
		}
		r, err := t.gate(ctx, g, i+1 < len(gates))
		if missing(err) {
			return wire.Failed(wire.FaultSetup, fmt.Sprintf("gate %s cannot be run: %v", g.Name, errors.Unwrap(err)), ""), nil
		}
		if err != nil {
			return spec.Result{}, fmt.Errorf("test %s: %w", t.Assignment.Agent(), err)
		}
		if err := t.ended(); err != nil && t.Assignment.Base {
			return unserviceable(err), nil
		}
		receipts = append(receipts, r)
	}
	if err := t.settle(ctx, receipts); err != nil {
		return spec.Result{}, fmt.Errorf("test %s: %w", t.Assignment.Agent(), err)
	}
	r := t.judged(receipts, skipped)
	if e != nil {
		r.Environment, r.Derived, r.Copies = e.ID, t.stale(e), e.Copies
	}
	return r, nil
}

// outdated returns a gate whose receipt on the base commit is of another environment than that of this run of gates; empty for
// none.
// Such receipts are not compared. A patch with a judge's role of its own may be proven in another one.
func (t *Executor) outdated() string {
	for _, name := range slices.Sorted(maps.Keys(t.Assignment.Baseline)) {
		if r := t.Assignment.Baseline[name]; t.Assignment.Patch == nil && r.Environment != "" && r.Environment != t.environment {
			return name
		}
	}
	return ""
}

// failsToo reports whether a gate of a batch need not run: one before it could not build what it would build again.
func (t *Executor) failsToo(g spec.Gate, receipts []spec.Receipt) bool {
	return t.Assignment.Since != "" && !t.mends() && slices.ContainsFunc(receipts, func(r spec.Receipt) bool {
		return gate.FailsToo(g, r, gate.Before(t.Assignment.Baseline, r.Gate))
	})
}

// missing reports whether a gate could not be started at all, wherever the fault of it lies.
func missing(err error) bool {
	var none *sandbox.NotFoundError
	return errors.As(err, &none) || errors.Is(err, sandbox.ErrInvalid)
}

// gate runs one gate when there is a free core for it, and appends its receipt; more reports whether another one follows. Where
// something hinders it, it does not run.
func (t *Executor) gate(ctx context.Context, g spec.Gate, more bool) (spec.Receipt, error) {
	if r, ok := t.had(g.Name); ok && g.Name != spec.RegenerateGate { // what that has made is gone
		return r, nil
	}
	if t.hindered != nil && !t.hindered.late {
		return t.unable(ctx, &g, t.hindered)
	}
	t.doing("waiting for a free core")
	release, err := t.Limiter.Acquire(ctx)
	if err != nil {
		return spec.Receipt{}, err
	}
	defer release()
	switch g.Name {
	case spec.MutantsGate:
		return t.mutants(ctx, &g)
	case spec.WeakerGate:
		return t.weaker(ctx, &g)
	}
	heard, stop := t.listen("gate " + g.Name)
	defer stop()
	audience := sandbox.Gates
	if t.Assignment.Base {
		audience = sandbox.Base
	}
	used, err := t.programsOf(ctx, audience, g.InFull().Command)
	if err != nil {
		return spec.Receipt{}, err
	}
	ground, err := t.beside(audience)
	if err != nil {
		return spec.Receipt{}, err
	}
	whole, tests, stale, list := &transcript{}, &testnames.Tests{}, false, finding.List{}
	where := gate.Where{
		Dir: t.Dir, Tree: t.Tree, Env: ground.Env, Place: ground.Place, Writable: ground.Writable, Readable: ground.Readable,
		Network: t.Assignment.Role.Network, Loopback: t.Assignment.Role.Loopback, Sink: whole, OnOutput: heard,
		Baseline: gate.Before(t.Assignment.Baseline, g.Name), More: more, Idle: t.Assignment.Idle, Ran: tests, Stale: &stale,
		Findings: &list,
		Changed:  func(ctx context.Context) ([]string, error) { return t.Changed(ctx, t.Origin) },
	}
	if err := t.narrow(ctx, g, &where); err != nil {
		return spec.Receipt{}, err
	}
	if where.Mending, err = t.mending(ctx, g.Name, where.Baseline); err != nil {
		return spec.Receipt{}, err
	}
	r, reading, err := t.run(ctx, g, where)
	if err == nil && r.LetsThrough() && stale && where.Baseline != nil {
		r, err = t.anew(ctx, g, where, whole, tests, reading)
	}
	if err == nil && t.remade(&r, where.Baseline) {
		r, err = t.evenly(ctx, g, where, whole, tests, reading)
	}
	r.Environment, r.Programs = t.environment, used
	if missing(err) || err == nil && r.Verdict != spec.VerdictPass { // a full disk is not what the patch has done
		err = cmp.Or(t.Room.Lack(append([]string{ground.Place.Temp, t.Dir}, ground.Writable...)...), err)
	}
	if err != nil {
		return r, err
	}
	t.served(&r, whole)
	if t.hindered != nil && r.Verdict == spec.VerdictFail {
		t.hindered.blame(&r)
	}
	if err := t.compare(ctx, &r, where.Baseline, tests); err != nil {
		return r, fmt.Errorf("compare the tests of gate %s: %w", g.Name, err)
	}
	if err := t.keepAll(ctx, &r, whole, list); err != nil {
		return r, err
	}
	if asked, err := t.grade(ctx, &r, reading, g, where); asked || err != nil {
		return r, err
	}
	return r, t.leave(ctx, &r)
}

// leave signs a receipt and appends it.
func (t *Executor) leave(ctx context.Context, r *spec.Receipt) error {
	if err := t.Sign(r); err != nil {
		return err
	}
	_, err := t.Journal.Append(ctx, wire.Draft(contextscope.KindReceipt, r))
	return err
}

// narrow narrows a gate that can be to what changed since the commit that a batch is built on. What the command for it changed of
// the tree is restored, and the gate begins in a place of its own.
func (t *Executor) narrow(ctx context.Context, g spec.Gate, where *gate.Where) error {
	change := gate.Change{Since: t.Assignment.Since}
	if change.Since == "" || !g.Narrows() || t.mends() {
		return nil
	}
	blobs, err := t.Blobs(ctx)
	if err == nil {
		change.Paths, err = t.Changed(ctx, change.Since)
	}
	if err != nil {
		return fmt.Errorf("list the changes since %s: %w", change.Since, err)
	}
	change.Files = slices.Collect(maps.Keys(blobs))
	if err := gate.Narrow(ctx, g, where, change); err != nil || len(g.Affected) == 0 {
		return err
	}
	if _, err := t.Restore(ctx); err != nil {
		return fmt.Errorf("restore the tree after the affected command of gate %s: %w", g.Name, err)
	}
	ground, err := t.beside(sandbox.Gates)
	where.Env, where.Place, where.Writable, where.Readable = ground.Env, ground.Place, ground.Writable, ground.Readable
	return err
}

// had returns the receipt that an earlier delivery of this attempt left for a gate on the same tree, in the same environment.
func (t *Executor) had(name string) (spec.Receipt, bool) {
	for _, e := range t.Journal.Events() {
		var r spec.Receipt
		if e.Kind == contextscope.KindReceipt && json.Unmarshal(e.Data, &r) == nil && r.Gate == name && r.Tree == t.Tree &&
			r.Environment == t.environment && (r.Worker == t.Worker || !slices.Contains(t.Assignment.Not, r.Worker)) {
			return r, true
		}
	}
	return spec.Receipt{}, false
}

func (t *Executor) doing(what string) {
	if t.Doing != nil {
		t.Doing(what)
	}
}

// maxTranscript bounds what is kept of a gate's whole output, in bytes.
const maxTranscript = 8 << 20

// transcript keeps the beginning of a stream: so many bytes, or maxTranscript.
type transcript struct {
	kept []byte
	most int
}

// Write never fails: what is too much is dropped.
func (t *transcript) Write(p []byte) (int, error) {
	t.kept = append(t.kept, p[:min(len(p), cmp.Or(t.most, maxTranscript)-len(t.kept))]...)
	return len(p), nil
}
