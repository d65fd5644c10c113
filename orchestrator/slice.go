package orchestrator

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// slice freezes what a task inherits from upstream and returns its name in the object store. Siblings of one dispatch get
// the same bytes, and so the same name.
func (c *Conductor) slice(ctx context.Context, a *wire.Assignment, t *TaskView) (string, error) {
	in := contextscope.SliceInput{
		Include: t.Task.IncludeContents, DecisionRecord: a.DecisionRecord, Last: t.Task.Last, MaxTokens: t.Task.MaxTokens,
	}
	if t.Task.IncludeContents == spec.IncludeFull {
		if err := c.upstream(ctx, t, &in); err != nil {
			return "", err
		}
	}
	data, digest, err := contextscope.BuildSlice(in).Encode()
	if err != nil {
		return "", fmt.Errorf("encode the slice of %s: %w", t.Task.ID, err)
	}
	name := "slice-" + digest
	if c.stored[name] {
		return name, nil
	}
	if err := c.cfg.Bus.Put(ctx, name, data); err != nil {
		return "", fmt.Errorf("store the slice of %s: %w", t.Task.ID, err)
	}
	c.stored[name] = true
	return name, nil
}

// upstream reads the dispatching agent's session, then the accepted session of each task in inputs, in plan order.
func (c *Conductor) upstream(ctx context.Context, t *TaskView, in *contextscope.SliceInput) error {
	if task, n, ok := splitAgent(c.st.Plans[t.Plan].By); ok {
		for i := 1; i <= n; i++ {
			events, err := Session(ctx, c.cfg.Bus, c.cfg.Run, spec.RoleMaster, task, i)
			if err != nil {
				return err
			}
			if i > 1 {
				// A master that is woken is given its brief again; whoever inherits its session needs it once.
				events = slices.DeleteFunc(events, func(e contextscope.Event) bool { return e.Kind == contextscope.KindBrief })
			}
			in.Dispatcher = append(in.Dispatcher, events...)
		}
	}
	wanted := map[string]bool{}
	for _, i := range t.Task.Inputs {
		id, _ := spec.SplitInput(i)
		for _, member := range c.st.members(id) {
			wanted[member] = true
		}
	}
	for _, id := range c.st.Order {
		up := c.st.Tasks[id]
		if !wanted[id] || up.Result == nil {
			continue
		}
		events, err := Session(ctx, c.cfg.Bus, c.cfg.Run, up.Task.Role, id, up.Result.Attempt)
		if err != nil {
			return err
		}
		in.Inputs = append(in.Inputs, events)
	}
	return nil
}

// Session reads the events of one attempt, in order.
func Session(ctx context.Context, b *bus.Bus, run, role, task string, attempt int) ([]contextscope.Event, error) {
	var out []contextscope.Event
	for m, err := range b.Read(ctx, bus.AttemptSubject(run, role, task, attempt), 0) {
		if err != nil {
			return nil, fmt.Errorf("read the session of %s/%d: %w", task, attempt, err)
		}
		events, err := wire.DecodeEvents(m.Data, m.Pos)
		if err != nil {
			return nil, err
		}
		out = append(out, events...)
	}
	return out, nil
}

func splitAgent(agent string) (task string, attempt int, ok bool) {
	task, n, found := strings.Cut(agent, "/")
	attempt, err := strconv.Atoi(n)
	return task, attempt, found && err == nil
}

func digestName(data []byte) string {
	sum := sha256.Sum256(data)
	return "assignment-" + hex.EncodeToString(sum[:])
}

// quoted writes a value as JSON: what an agent said then cannot pass for the conductor's own words.
func quoted(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return strconv.Quote(err.Error())
	}
	return bounded(string(data), maxQuoted)
}

// maxQuoted bounds, in bytes, what a master is told of one task.
const maxQuoted = 8 << 10
