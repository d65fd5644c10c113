package subagents

import (
	"context"
	"errors"
	"fmt"
	"os"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/tool"
)

// agent builds the model agent of the attempt. done closes what it holds, after its Run.
func (at *attempt) agent(ctx context.Context) (a *Agent, done func(), err error) {
	w := at.worker
	if w.cfg.Model == nil {
		return nil, nil, &refusal{errors.New("this worker has no model")}
	}
	in, err := at.input(ctx)
	if err != nil {
		return nil, nil, err
	}
	tools, done, err := at.tools()
	if err != nil {
		return nil, nil, err
	}
	role, project := &at.assignment.Role, &at.assignment.Project
	alias := role.Model
	if alias == "" {
		alias = "default"
	}
	settings := project.Models[alias]
	return &Agent{
		Assignment: at.assignment, Journal: at.journal, Model: w.cfg.Model,
		ModelName: project.ModelName(role.Model), Thinking: settings.Thinking, MaxOutput: settings.MaxOutput,
		Compiler: contextscope.NewCompiler(), Tools: tools, Input: in, Tree: at.tree(), WriteSet: at.writeSet(),
		Bounds: at.bounds(), Inbox: at.inbox, Doing: at.progress.doing, Hold: w.cfg.Hold, Clock: w.cfg.Clock, Log: at.log,
	}, done, nil
}

// tools builds the role's tools over the slot, or over an empty directory for a role without file tools.
func (at *attempt) tools() (set *tool.Set, done func(), err error) {
	a := at.assignment
	dir := at.private
	if at.slot != nil {
		dir = at.slot.Dir()
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("open the work tree: %w", err)
	}
	done = func() {
		if err := root.Close(); err != nil {
			at.log.Warn().Err(err).Msg("the work tree was not closed")
		}
	}
	set, err = tool.Builtin(a.Role.Tools, tool.Env{
		Root: root, Dir: dir, WriteSet: a.Task.Files, Protected: a.Project.Protected,
		Runner: runner{at}, MaxCommand: defaultTool, Artifacts: shelf{at.worker.cfg.Bus, a.Run, a.Agent()},
		Output: a.Role.Output, Extra: at.worker.cfg.Tools(a),
	})
	if err != nil {
		done()
		return nil, nil, &refusal{fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)}
	}
	return set, done, nil
}

// input gathers what every request of the agent shares.
func (at *attempt) input(ctx context.Context) (contextscope.Input, error) {
	a := at.assignment
	in := contextscope.Input{
		Agent: a.Agent(), Role: a.Role, Include: spec.IncludeFull, Narrative: a.Role.Narrative,
		Brief: contextscope.Brief{Task: a.Task, Goal: a.Goal, DecisionRecord: a.DecisionRecord},
	}
	for _, i := range a.Inputs {
		in.Brief.Inputs = append(in.Brief.Inputs, contextscope.Handoff(i))
	}
	for _, p := range a.Prior {
		in.Brief.Prior = append(in.Brief.Prior, contextscope.Prior(p))
	}
	if a.Slice != "" {
		data, err := at.worker.cfg.Bus.Get(ctx, a.Slice)
		if err != nil {
			return in, fmt.Errorf("get the slice of %s: %w", a.Agent(), err)
		}
		if in.Slice, err = contextscope.DecodeSlice(data); err != nil {
			return in, fmt.Errorf("read the slice of %s: %w", a.Agent(), err)
		}
	}
	var err error
	in.Events, err = at.continued(ctx)
	return in, err
}

// continued reads the sessions that this one goes on with. They are the same agent's: an agent that is woken again.
func (at *attempt) continued(ctx context.Context) ([]contextscope.Event, error) {
	a := at.assignment
	var out []contextscope.Event
	for _, n := range a.Continues {
		events, _, err := readSession(ctx, at.worker.cfg.Bus, bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, n))
		if err != nil {
			return nil, fmt.Errorf("read the session that %s goes on with: %w", a.Agent(), err)
		}
		for _, e := range events {
			if e.Author == e.Agent {
				e.Author = a.Agent()
			}
			e.Agent = a.Agent()
			out = append(out, e)
		}
	}
	return out, nil
}
