package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/limit"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
	"divisi/subagents/workspace"

	"google.golang.org/genai"
)

// outcome is one call with its result.
type outcome struct {
	call   *genai.FunctionCall
	result tool.Result
	writes bool
}

// runCalls runs the open turn's calls and appends all results, in call order, in one message, with the states that the calls
// went through. Where a call wrote, the tree goes with it, so that another delivery can continue from here.
func (a *Agent) runCalls(ctx context.Context) error {
	calls, err := a.openCalls(ctx)
	if err != nil {
		return err
	}
	done, events, err := a.schedule(ctx, calls)
	if err != nil {
		return err
	}
	ctx, cancel := a.closing(ctx)
	defer cancel()
	results, err := a.results(ctx, done)
	if err == nil {
		events = append(events, results)
	}
	var paid spec.Usage
	for i := range done {
		paid = paid.Add(done[i].result.Usage)
	}
	if paid != (spec.Usage{}) { // also where the calls will be made again
		p := &a.Assignment.Project
		events = append(events, a.spentEvent(paid, p.ModelName(p.Summaries.WithDefaults().Model)))
	}
	if len(events) == 0 {
		return err
	}
	return errors.Join(err, a.append(ctx, events...))
}

// closing is the context in which a turn's results are kept. When the attempt's own time is over they still count: the wrap-up
// turn is to know them.
func (a *Agent) closing(ctx context.Context) (context.Context, context.CancelFunc) {
	if errors.Is(context.Cause(ctx), limit.ErrTime) && !a.late {
		return context.WithTimeout(context.WithoutCancel(ctx), limit.SaveTime)
	}
	return ctx, func() {}
}

// results makes the tool event of calls that were executed. The error is the cause of the context where it has ended: then
// the calls may have been cut short.
func (a *Agent) results(ctx context.Context, done []outcome) (contextscope.Event, error) {
	var none contextscope.Event
	if err := context.Cause(ctx); err != nil {
		return none, err
	}
	data, err := a.conclude(ctx, done)
	if err != nil {
		return none, err
	}
	content := &genai.Content{Role: genai.RoleUser}
	for i := range done {
		r := &done[i].result
		if r.Err {
			data.Failed++
		}
		data.Kept = append(data.Kept, r.Kept...)
		if len(r.Steps) > 0 {
			data.Steps = r.Steps
		}
		if data.Loads, err = a.load(ctx, data.Loads, r.Load); err != nil {
			return none, err
		}
		content.Parts = append(content.Parts, &genai.Part{FunctionResponse: &genai.FunctionResponse{
			ID: done[i].call.ID, Name: done[i].call.Name, Response: r.Output, // the id is echoed when the model gave one
		}})
	}
	e := wire.Draft(contextscope.KindTool, data)
	e.Content = content
	return e, nil
}

// load keeps what a call asked to be shown, so that the next request can be made again, by another delivery too.
func (a *Agent) load(ctx context.Context, loads []wire.Load, l *tool.Load) ([]wire.Load, error) {
	if l == nil {
		return loads, nil
	}
	object, err := a.Journal.Keep(ctx, []byte(l.Text))
	if err != nil {
		return loads, fmt.Errorf("keep the request of %s: %w", a.Assignment.Agent(), err)
	}
	return append(loads, wire.Load{Handle: l.Handle, What: l.What, Object: object}), nil
}

// openCalls returns the calls of the open turn with their whole arguments.
func (a *Agent) openCalls(ctx context.Context) ([]*genai.FunctionCall, error) {
	if a.whole != nil {
		return callsOf(a.whole), nil
	}
	var out []*genai.FunctionCall
	for _, stored := range callsOf(a.session.open) {
		call := *stored
		args, err := a.Journal.Args(ctx, stored)
		if err != nil {
			return nil, err
		}
		call.Args = args
		out = append(out, &call)
	}
	return out, nil
}

// instead is a failure in the place of a result. What the call made and cost stays.
func instead(r tool.Result, format string, args ...any) tool.Result {
	failed := tool.Failed(format, args...)
	failed.Kept, failed.Usage = r.Kept, r.Usage
	return failed
}

// conclude saves the tree where a call wrote, and accepts the first call that ends the attempt, unless what is in the tree is
// not the task's to change: then the call fails, and the agent can put it right.
func (a *Agent) conclude(ctx context.Context, done []outcome) (wire.Tooled, error) {
	var data wire.Tooled
	wrote, ends := -1, -1
	for i := range done {
		if done[i].writes {
			wrote = i
		}
		if ends < 0 && done[i].result.Ends && !done[i].result.Err {
			ends = i
		}
	}
	last := wrote
	if ends >= 0 { // what cannot be saved cannot be handed in
		last = ends
	}
	if a.Tree != nil && last >= 0 {
		if err := a.save(ctx, &data, &done[last]); err != nil {
			return data, err
		}
	}
	if ends < 0 || done[ends].result.Err {
		return data, nil
	}
	if fault := wire.Refuse(a.Scope.Set(), data.Tree); fault != nil {
		done[ends].result = instead(done[ends].result, "%s. Put them back as they were, then submit again:\n%s",
			fault.Message, fault.Detail)
		return data, nil
	}
	held, err := a.held(ctx, &done[ends])
	if err != nil {
		return data, err
	}
	if held != "" {
		done[ends].result = instead(done[ends].result, "%s. Then submit again.", held)
		return data, nil
	}
	left, err := a.remaining(ctx, &done[ends])
	if err != nil {
		return data, err
	}
	if len(left) > 0 && !a.session.remained && a.Assignment.Task.Remaining != spec.RemainingOK {
		data.Remaining = true
		done[ends].result = instead(done[ends].result, "%s. Finish these, then submit again; where one has to stay, say in "+
			"deviations why. You are asked this once:\n%s", wire.StillMatches(left), wire.Bounded(left))
		return data, nil
	}
	data.End = a.end(&done[ends].result)
	saved := a.session.saved
	for i := range done {
		saved = contextscope.Saved(saved, done[i].result.Kept...)
	}
	data.End.Handoff.Artifacts = withSaved(data.End.Handoff.Artifacts, saved)
	if len(left) > 0 {
		told := wire.StillMatches(left) + ": " + wire.Bounded(left)
		data.End.Handoff.Deviations = append(slices.Clip(data.End.Handoff.Deviations), told)
	}
	return data, nil
}

// held names what a patch would lack where a call hands the work in.
func (a *Agent) held(ctx context.Context, o *outcome) (string, error) {
	if a.Held == nil || a.Tree == nil || o.result.Submit == nil || o.result.HandedOver {
		return "", nil
	}
	return a.Held(ctx)
}

// remaining lists the files of the shard that still match its rule when a call submits the work.
func (a *Agent) remaining(ctx context.Context, o *outcome) ([]string, error) {
	if a.Remaining == nil || o.result.Submit == nil || o.result.HandedOver {
		return nil, nil
	}
	left, err := a.Remaining(ctx)
	if err != nil {
		return nil, fmt.Errorf("match the files of %s again: %w", a.Assignment.Agent(), err)
	}
	return left, nil
}

// save puts the tree into the data of the tool event. A tree that cannot be saved because of what is in it is told the agent,
// as the result of the call that ends the attempt, or else of the last that wrote.
func (a *Agent) save(ctx context.Context, data *wire.Tooled, last *outcome) error {
	tree, err := a.Tree.Save(ctx)
	var content *workspace.ContentError
	switch {
	case errors.As(err, &content):
		last.result = instead(last.result, "%s", content)
	case err != nil:
		return fmt.Errorf("save the tree of %s: %w", a.Assignment.Agent(), err)
	default:
		data.Tree, data.Clean = tree, tree == nil
	}
	return nil
}

func (a *Agent) end(r *tool.Result) *wire.End {
	end := &wire.End{Plan: r.Plan, Final: r.Plan == nil && a.plans(), HandedOver: r.HandedOver}
	if r.Submit != nil {
		end.Handoff = *r.Submit
	}
	return end
}

// withSaved adds the handles of saved artifacts to those that an agent named itself.
func withSaved(handles []string, saved []contextscope.Listed) []string {
	handles = slices.Clip(handles)
	for _, l := range saved {
		if !slices.Contains(handles, l.Handle) {
			handles = append(handles, l.Handle)
		}
	}
	return handles
}
