package worker

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/command"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/journal"
	"divisi/subagents/limit"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"github.com/rs/zerolog"
)

// attempt is one delivery being executed: what the executors are built from. It belongs to its goroutine.
type attempt struct {
	worker     *Worker
	assignment *wire.Assignment
	journal    *journal.Journal
	requests   *toolset.Requests
	place      *permit
	inbox      *agent.Inbox
	progress   *progress
	// began is when this delivery did, worked what earlier ones took of the attempt's time.
	began  time.Time
	worked time.Duration
	// queued and slotted are what waiting for cores and the work tree took before the work began.
	queued, slotted time.Duration
	// saved is the time spent on making patches of the work tree.
	saved time.Duration
	log   zerolog.Logger

	slot *workspace.Slot
	// commit is the commit to which the slot was reset, tested its tree.
	commit, tested string
	// beside are the submodules, and the contents that Git LFS keeps, of that commit.
	beside []sandbox.Layer
	// private is the directory with the attempt's home and temporary directory.
	private string
	cache   sandbox.Cache
	env     []string
	// under is the environment below the tree; nil for none. toolsDir and storesDir are its, or those of one that is being made,
	// which setup writes: fill.
	under               *environment.Environment
	toolsDir, storesDir string
	fill                bool
	// keeper holds the views of its layers, stores and build cache, for all commands but a setup; nil where there are none.
	// copied reports that the layers are copied into the tree.
	keeper *sandbox.Keeper
	copied bool
	// ahead starts the stages of its next commands, which are for the audience aheadFor; nil where its place is not made.
	ahead    *sandbox.Ahead
	aheadFor sandbox.Audience
	// copiedBuilds is the copy of the build cache that gates write where there are no layers; empty for none.
	copiedBuilds string
	// disk bounds what its commands write together; nil for no bound.
	disk *sandbox.Disk
	// readable lists the readable paths of commands beside their place and the system.
	readable []string
}

// carryOut prepares the place and lets the role's executor work in it. A command gets its core first: its time begins then, and
// no slot is made for one that waits.
func (at *attempt) carryOut(ctx context.Context) (r spec.Result, err error) {
	done := func() {}
	if at.runsCommand() {
		done, err = at.queue(ctx, at.worker.commands)
	}
	if err == nil {
		defer done()
		r, err = at.inPlace(ctx)
	}
	var unmade *unmadeError
	if errors.As(err, &unmade) {
		r, err = unmade.result, nil
	}
	if err == nil && at.setupAlone(&r) {
		err = &troubleError{wire.FaultSetup, r.Error.Message}
	}
	var refused *wire.RefusedError
	if errors.As(err, &refused) {
		return wire.Failed(cmp.Or(refused.Class, wire.FaultAssignment), refused.Error(), ""), nil
	}
	if err == nil {
		return r, nil
	}
	if end := limit.EndingOf(context.Cause(ctx), at.bounds()); end != nil && !errors.Is(err, bus.ErrFenced) {
		return spec.Result{Status: end.Status, Error: &end.Fault}, nil
	}
	return spec.Result{}, fmt.Errorf("run %s: %w", at.assignment.Agent(), err)
}

// setupAlone reports whether an attempt failed by what the setup of the run does on this machine: it has passed on another one.
func (at *attempt) setupAlone(r *spec.Result) bool {
	return at.worker.cfg.Broke != nil && r.Error != nil && r.Error.Class == wire.FaultSetup && !at.assignment.Base &&
		len(at.assignment.Setup) == 0
}

// lacks returns what the machine lacks, where something of the attempt has failed.
func (at *attempt) lacks(dirs ...string) error {
	err := machine.Room(dirs...)
	if lacks := at.worker.cfg.Lacks; err == nil && lacks != nil {
		err = lacks()
	}
	return err
}

// queue waits for a core and counts the time.
func (at *attempt) queue(ctx context.Context, cores *gate.Limiter) (release func(), err error) {
	begin := time.Now()
	defer func() { at.queued += time.Since(begin) }()
	at.progress.doing("waiting for a free core")
	return cores.Acquire(ctx)
}

// runsCommand reports whether a program carries the attempt out.
func (at *attempt) runsCommand() bool {
	return !tests(at.assignment) && at.assignment.Role.Executor == spec.ExecutorCommand
}

func (at *attempt) inPlace(ctx context.Context) (spec.Result, error) {
	if err := at.barred(ctx); err != nil {
		return spec.Result{}, err
	}
	release, err := at.prepare(ctx)
	defer release()
	if err != nil {
		return spec.Result{}, err
	}
	r, err := at.execute(ctx)
	if err == nil {
		at.settleBuilds(&r)
	}
	if at.slot != nil && machine.Of(err, "") != nil {
		err = errors.Join(err, at.slot.Drop()) // what fills the disk may be in the tree
	}
	return r, err
}

// Executor carries one attempt out, in the place that the worker has prepared. Run is called once. An error without a result is a
// cause of ctx, agent.ErrStopped, bus.ErrFenced or a fault of the machinery: another delivery continues.
type Executor interface {
	Run(ctx context.Context) (spec.Result, error)
}

func (at *attempt) execute(ctx context.Context) (spec.Result, error) {
	cut, err := command.Cut(at.journal.Events())
	if err == nil {
		err = at.pay(ctx, cut)
	}
	if err != nil {
		return spec.Result{}, err
	}
	executor, done, err := at.executor(ctx)
	if err != nil {
		return spec.Result{}, err
	}
	defer done()
	return executor.Run(ctx)
}

// executor runs the role. done closes what it holds, after its Run.
func (at *attempt) executor(ctx context.Context) (e Executor, done func(), err error) {
	role := &at.assignment.Role
	switch {
	case tests(at.assignment):
		return at.tester(), func() {}, nil
	case role.Executor == spec.ExecutorModel, role.Name == spec.RoleMaster:
		return at.agent(ctx)
	case role.Executor == spec.ExecutorCommand:
		return at.command(), func() {}, nil
	}
	return nil, nil, &wire.RefusedError{Err: fmt.Errorf("role %s has the unknown executor %q", role.Name, role.Executor)}
}

// tests reports whether an assignment is to be proven and not to be done.
func tests(a *wire.Assignment) bool {
	return a.Patch != nil || a.Role.Executor == "" || a.Role.Name == spec.RoleTester
}

// prepare gets a slot with the right content, private directories and an environment. release is never nil.
func (at *attempt) prepare(ctx context.Context) (release func(), err error) {
	var undo []func()
	release = func() {
		for _, f := range slices.Backward(undo) {
			f()
		}
	}
	if at.private, err = os.MkdirTemp(at.worker.cfg.Temp, "attempt-"); err != nil {
		return release, fmt.Errorf("make a private directory: %w", err)
	}
	undo = append(undo, func() {
		at.endStages()
		if errors.Is(context.Cause(ctx), errShutdown) {
			return // it goes with the directory that it is in, which can take longer than the end of a run may
		}
		if err := workspace.Remove(at.private); err != nil {
			at.log.Warn().Err(err).Msg("a private directory stays behind")
		}
	})
	if err := at.bring(ctx); err != nil {
		return release, err
	}
	if at.needsSlot() {
		if err := at.open(ctx); err != nil {
			return release, err
		}
		at.progress.doing("waiting for a work tree")
		begin, queued := time.Now(), at.queued
		defer func() { at.slotted = time.Since(begin) - (at.queued - queued) }()
		if at.slot, err = at.worker.cfg.Pool.Acquire(ctx); err != nil {
			return release, err
		}
		undo = append(undo, func() {
			at.endStages()
			at.worker.cfg.Pool.Release(at.slot)
		})
		if err := at.reset(ctx); err != nil {
			return release, err
		}
	}
	at.disk = sandbox.NewDisk(at.worker.cfg.Owner.MaxDisk) // what was laid out until now, no command has written
	if tests(at.assignment) {
		return release, nil // each of its commands is prepared for itself
	}
	return release, at.environment(at.audience())
}

// audience is whose cache the agent's commands use: one of its own where they have the network or secrets. A judge reads nothing
// that the agents can write whose patches it judges.
func (at *attempt) audience() sandbox.Audience {
	r := &at.assignment.Role
	switch {
	case r.Network, len(r.Secrets) > 0:
		return sandbox.Apart(r.Name, r.Network, len(r.Secrets) > 0)
	case at.judge() != nil:
		return sandbox.Gates
	}
	return sandbox.Agents
}

func (at *attempt) home() string { return filepath.Join(at.private, "home") }
func (at *attempt) temp() string { return filepath.Join(at.private, "tmp") }

func (at *attempt) needsSlot() bool {
	a := at.assignment
	if tests(a) || a.Role.Executor == spec.ExecutorCommand {
		return true
	}
	for _, m := range a.Project.Servers(&a.Role) {
		if len(m.Command) > 0 { // a server works in the tree
			return true
		}
	}
	return slices.ContainsFunc(toolset.Names(a), spec.TreeTool)
}

// reset puts the attempt's commit into the slot: what is to be proven, what an earlier delivery had done or the attempt before
// has handed over, or the head.
func (at *attempt) reset(ctx context.Context) error {
	w, a := at.worker, at.assignment
	commit := a.Head
	saved, err := agent.SavedTree(at.journal.Events())
	if err != nil {
		return err
	}
	for _, p := range []*spec.Patch{a.Patch, a.Start, saved} {
		if p == nil {
			continue
		}
		err := fetch(ctx, w.cfg.Mirror, w.cfg.Bus, p)
		if errors.Is(err, git.ErrPack) || errors.Is(err, bus.ErrNotFound) {
			return &wire.RefusedError{Err: err}
		}
		if err != nil {
			return err
		}
		commit = p.Commit
	}
	at.tested, err = w.cfg.Mirror.Tree(ctx, commit)
	if errors.Is(err, git.ErrNotFound) {
		return &wire.RefusedError{Err: fmt.Errorf("commit %q is not in this worker's mirror", commit)}
	}
	if err != nil {
		return fmt.Errorf("look for %s: %w", commit, err)
	}
	at.commit = commit
	if at.beside, err = w.cfg.Checkout.Layers(ctx, w.cfg.Mirror, commit); err != nil {
		return fmt.Errorf("find the parts of the checkout in %s: %w", commit, err)
	}
	release, err := at.queue(ctx, w.resets)
	if err != nil {
		return err
	}
	defer release()
	at.progress.doing("preparing its work tree")
	return at.lay(ctx)
}

// ground holds the private directories of the attempt's commands; an attempt without a slot works in its private directory.
func (at *attempt) ground() sandbox.Place {
	p := sandbox.Place{
		Tree: at.private, Home: at.home(), Temp: at.temp(), Tools: at.toolsDir, Stores: at.storesDir, Fill: at.fill,
		Downloads: at.cache.Downloads, Builds: at.copiedBuilds, Owner: at.worker.cfg.Owner,
		Disk: at.disk, InitBranch: at.worker.cfg.InitBranch,
	}
	if at.slot != nil {
		p.Tree, p.Layers = at.slot.Dir(), slices.Clone(at.beside)
	}
	if at.slot != nil && !at.copied {
		p.Layers = append(p.Layers, at.under.Layers()...)
	}
	if !at.fill {
		p.Keeper, p.Ahead = at.keeper, at.ahead
	}
	return p
}

// confined is shared by all commands of the attempt's agent.
func (at *attempt) confined() sandbox.Command {
	return sandbox.Command{
		Dir: at.ground().Tree, Place: at.ground(),
		Env:      slices.Concat(at.env, command.TaskEnv(at.assignment, at.assignment.Task.Files)),
		Writable: at.cache.Writable, Readable: at.readable, Network: at.assignment.Role.Network,
		Loopback: at.assignment.Role.Loopback,
	}
}

func (at *attempt) bounds() limit.Bounds {
	a := at.assignment
	return limit.Of(&a.Task, &a.Role, &a.Project, at.worked)
}

func (at *attempt) writeSet() spec.WriteSet {
	return at.assignment.Task.WriteSet(at.assignment.Project.Protected)
}

// tree is the attempt's work tree where it becomes a patch; nil for others.
func (at *attempt) tree() agent.Tree {
	if at.slot == nil || tests(at.assignment) || !writes(&at.assignment.Role) {
		return nil
	}
	// The journal's first event was appended when the first delivery began.
	tree := newSlotTree(at.slot, at.worker.cfg.Bus, at.assignment, at.journal.Events()[0].Time)
	tree.took = &at.saved
	return tree
}

// writes reports whether a role's work tree becomes a patch. What the command of a role that writes nothing leaves behind is
// no patch.
func writes(r *spec.Role) bool {
	return r.Writes || slices.ContainsFunc(r.Tools, spec.WritingTool)
}

func (at *attempt) command() *command.Executor {
	return &command.Executor{
		Assignment: at.assignment, Dir: at.slot.Dir(), Env: at.env, Place: at.ground(), Writable: at.cache.Writable,
		Readable: at.readable, Tree: at.tree(), Lost: at.lost, Held: at.held,
		Secrets: command.SecretsOf(&at.assignment.Role, at.worker.cfg.Environ), WriteSet: at.writeSet(), Bounds: at.bounds(),
		Room: at.lacks, Remaining: at.remaining(), Tracked: at.tracked, Doing: at.progress.doing, Pay: at.pay,
		Calls: at.worker.cfg.Calls,
	}
}
