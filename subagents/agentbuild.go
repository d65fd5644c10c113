package subagents

import (
	"context"
	"errors"
	"fmt"
	"os"

	"divisi/contextscope"
	"divisi/subagents/tool"
)

// agent builds the model agent of the attempt. done closes what it holds, after its Run.
func (at *attempt) agent(ctx context.Context) (a *Agent, done func(), err error) {
	w := at.worker
	if w.cfg.Model == nil {
		return nil, nil, &refusal{errors.New("this worker has no model")}
	}
	in, err := inputOf(ctx, at.worker.cfg.Bus, at.assignment)
	if err != nil {
		return nil, nil, err
	}
	tools, done, err := at.tools()
	if err != nil {
		return nil, nil, err
	}
	return &Agent{
		Assignment: at.assignment, Journal: at.journal, Model: w.cfg.Model,
		Call: callOf(at.assignment), Compiler: contextscope.NewCompiler(), Tools: tools, Input: in, Tree: at.tree(), WriteSet: at.writeSet(),
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
