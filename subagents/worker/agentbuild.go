package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"

	"divisi/contextscope/compile"
	"divisi/contextscope/memory"
	"divisi/internal/spec"
	"divisi/subagents/agent"
	"divisi/subagents/tool"
)

// agent builds the model agent of the attempt. done closes what it holds, after its Run.
func (at *attempt) agent(ctx context.Context) (a *agent.Agent, done func(), err error) {
	w := at.worker
	if w.cfg.Model == nil {
		return nil, nil, &refusal{errors.New("this worker has no model")}
	}
	in, err := inputOf(ctx, w.cfg.Bus, &w.slices, w.cfg.Mirror, at.assignment)
	if err != nil {
		return nil, nil, err
	}
	a = &agent.Agent{
		Assignment: at.assignment, Journal: at.journal, Model: w.cfg.Model,
		Call: agent.CallOf(at.assignment), Compiler: w.compiler, Input: in,
		Compact: agent.NewCompactor(w.cfg.Model, at.assignment, w.cfg.Hold, at.log),
		Memory:  w.cfg.Memory, Siblings: w.siblings,
		Tree: at.tree(), Remaining: at.remaining(), Scope: at.requests.scope(at.writeSet()), Delegated: at.requests.Delegated,
		Rest:   func() func() { return at.place.rest(ctx) },
		Bounds: at.bounds(), Inbox: at.inbox, Doing: at.progress.doing, Hold: w.cfg.Hold, Clock: w.cfg.Clock, Log: at.log,
	}
	if a.Tools, done, err = at.tools(ctx, a); err != nil {
		return nil, nil, err
	}
	in.Tools = a.Tools.Declarations()
	if err := compile.CheckFixed(in); err != nil {
		done()
		return nil, nil, &refusal{err}
	}
	return a, done, nil
}

// tools builds the role's tools over the slot, or over an empty directory for a role without file tools.
func (at *attempt) tools(ctx context.Context, of *agent.Agent) (set *tool.Set, done func(), err error) {
	a := at.assignment
	root, err := os.OpenRoot(at.ground().Tree)
	if err != nil {
		return nil, nil, fmt.Errorf("open the work tree: %w", err)
	}
	done = func() {
		if err := root.Close(); err != nil {
			at.log.Warn().Err(err).Msg("the work tree was not closed")
		}
	}
	env := tool.Env{
		Root: root, Dir: at.ground().Seen().Tree, Scope: of.Scope,
		Runner: runner{at}, MaxCommand: of.Bounds.Tool, Artifacts: agent.NewShelf(at.worker.cfg.Bus, a.Run, a.Agent(), of.Known),
		Output: a.Role.Output, Constraints: spec.Rules(a.Task.Constraints), Extra: at.worker.cfg.Tools(a),
		Events: of, Known: of.Known, Sought: of.Sought, ToolOutput: a.Role.ToolOutput,
		Summarizer: agent.NewSummarizer(at.worker.cfg.Model, a),
		Source:     a.Run + "/" + a.Task.ID, Report: at.progress.report,
	}
	if len(a.Role.MCPServers) > 0 {
		env.Ripgrep = "-" // a server may write the tree while it is read, and only a walk of our own follows no link out of it
	}
	if at.slot != nil {
		env.History, env.Gates = &history{slot: at.slot, mirror: at.worker.cfg.Mirror, head: a.Head}, gates{at}
	}
	if m := at.worker.cfg.Memory; m != nil {
		env.Memory, env.Proposer = m, m
		at.refresh(ctx, m)
	}
	servers, err := at.servers(ctx)
	if err != nil {
		done()
		return nil, nil, err
	}
	closeTree := done
	done = func() { servers.Close(); closeTree() }
	env.Extra = slices.Concat(env.Extra, servers.Tools(), requestTools(at.requests, a, of.Scope))
	set, err = tool.Builtin(slices.Concat(toolNames(&a.Role), namesOf(servers.Tools())), env)
	if err != nil {
		done()
		return nil, nil, &refusal{fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)}
	}
	return set, done, nil
}

// refresh lets the agent find what was noted since the last one began. Notes that cannot be read are told when a run begins.
func (at *attempt) refresh(ctx context.Context, m *memory.Memory) {
	ctx, cancel := context.WithTimeout(ctx, agent.RecallTime)
	defer cancel()
	if _, err := m.Refresh(ctx); err != nil {
		at.log.Warn().Err(err).Msg("the memory may be out of date")
	}
}
