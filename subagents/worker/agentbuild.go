package worker

import (
	"context"
	"errors"
	"slices"

	"github.com/rs/zerolog"

	"divisi/contextscope/compile"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/brief"
	"divisi/subagents/command"
	"divisi/subagents/toolset"
	"divisi/subagents/wire"
)

// agent builds the model agent of the attempt. done closes what it holds, after its Run.
func (at *attempt) agent(ctx context.Context) (a *agent.Agent, done func(), err error) {
	w := at.worker
	mind, closeMind, err := at.mind(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		if err != nil {
			closeMind()
		}
	}()
	in, err := brief.Input(ctx, w.cfg.Events(at.assignment), w.cfg.Bus, &w.slices, w.cfg.Mirror, at.assignment)
	if err != nil {
		return nil, nil, err
	}
	a = &agent.Agent{
		Assignment: at.assignment, Journal: at.journal, Model: mind,
		Call: agent.CallOf(at.assignment), Compiler: w.compiler, Input: in,
		Compact:  agent.NewCompactor(mind, at.assignment, w.cfg.RateLimit, at.log),
		Siblings: w.siblings,
		Tree:     at.tree(), Remaining: at.remaining(), Held: at.held,
		Scope: at.requests.Scope(at.writeSet()), Delegated: at.requests.Delegated,
		Background: at.requests,
		Rest:       func() func() { return at.place.rest(ctx) },
		Bounds:     at.bounds(), Inbox: at.inbox, Doing: at.progress.doing,
		RateLimit: w.cfg.RateLimit, Clock: w.cfg.Clock, Log: at.log,
	}
	if w.cfg.Memory != nil {
		a.Memory = w.cfg.Memory
	}
	if a.Tools, done, err = at.toolset(mind).Open(ctx, a); err != nil {
		return nil, nil, err
	}
	closeTools := done
	done = func() { closeTools(); closeMind() }
	in.Tools = a.Tools.Declarations()
	if err := compile.CheckFixed(in); err != nil {
		closeTools()
		return nil, nil, &wire.RefusedError{Class: wire.FaultTooBig, Err: err}
	}
	return a, done, nil
}

// mind answers the attempt's agent: the model of the worker, or the program of a role whose executor is a command.
func (at *attempt) mind(ctx context.Context) (m model.Model, done func(), err error) {
	switch {
	case at.runsCommand():
		return command.NewMind(ctx, at.command())
	case at.worker.cfg.Model == nil:
		return nil, nil, &wire.RefusedError{Err: errors.New("this worker has no model")}
	}
	return at.worker.cfg.Model, func() {}, nil
}

// toolset is the input of the tools of the attempt's agent.
func (at *attempt) toolset(mind model.Model) *toolset.Config {
	w := at.worker
	return &toolset.Config{
		Runner: at.runner(), Env: at.env, Assignment: at.assignment, Journal: at.journal, Objects: w.cfg.Bus,
		Answers: w.cfg.Events(at.assignment), Requests: at.requests, Slot: at.slot, Writes: writes(&at.assignment.Role),
		Changed: at.changed, Mirror: w.cfg.Mirror, Environment: at.under, Environ: w.cfg.Environ, Model: mind,
		Memory: w.cfg.Memory, More: w.cfg.Tools(at.assignment), Log: at.log,
	}
}

func (at *attempt) runner() toolset.Runner {
	return toolset.Runner{Command: at.confined(), Cores: at.worker.commands}
}

// notes reports whether the memory has notes for a role with tools of the memory.
func (w *Worker) notes(ctx context.Context, a *wire.Assignment, log zerolog.Logger) bool {
	tools := a.Role.Tools
	if w.cfg.Memory == nil || !slices.Contains(tools, spec.ToolLoadMemory) && !slices.Contains(tools, spec.ToolSaveMemory) {
		return false
	}
	notes, err := w.cfg.Memory.Refresh(ctx)
	if err != nil {
		log.Warn().Err(err).Msg("the notes cannot be listed: the agent has no tools of the memory")
	}
	return notes
}
