package conductor

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/assign"
	"divisi/orchestrator/eventlog"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Restore brings into a mirror what the log of its run refers to and the mirror lacks, because the conductor before this one had
// another, or the mirror is made again: the commits that it made, and the patches that agents made. What a conductor refuses of a
// patch it has refused then. What cannot be brought is left out; the error names all of it.
func Restore(ctx context.Context, b *bus.Bus, id string, mirror *git.Repo) error {
	made, err := packed(ctx, b, id)
	if err != nil {
		return err
	}
	var lost error
	got := map[string]bool{}
	for _, m := range made {
		has, err := mirror.Has(ctx, m.Commit)
		if err != nil || ctx.Err() != nil {
			return errors.Join(err, ctx.Err())
		}
		if has || got[m.Pack] {
			continue
		}
		got[m.Pack] = true
		if err := m.bring(ctx, b, mirror); err != nil && (!m.agents || !refused(err)) {
			lost = errors.Join(lost, fmt.Errorf("get commit %s of run %s: %w", m.Commit, id, err))
		}
	}
	return lost
}

// bring takes a pack into the mirror. It was judged when it came.
func (p *pack) bring(ctx context.Context, b *bus.Bus, mirror *git.Repo) (err error) {
	var data []byte
	if p.agents {
		data, err = b.Get(ctx, p.Pack)
	} else {
		data, err = wire.Open(ctx, b, wire.SealedCommits, p.Pack)
	}
	if err != nil {
		return err
	}
	return mirror.ImportFrom(ctx, bytes.NewReader(data))
}

// pack is a commit and the object that has it; agents reports that no conductor made it.
type pack struct {
	run.Made
	agents bool
}

// packed lists the commits that the log of a run refers to, each behind those that it builds on.
func packed(ctx context.Context, b *bus.Bus, id string) (out []pack, err error) {
	st, seen := run.NewState(), map[run.Made]bool{}
	add := func(m run.Made, agents bool) {
		if m.Pack != "" && !seen[m] {
			seen[m], out = true, append(out, pack{m, agents})
		}
	}
	err = eventlog.Log{Bus: b, Run: id}.Into(ctx, st, func(e *contextscope.Event) {
		if e.Kind == contextscope.KindRun {
			var d run.Data
			if json.Unmarshal(e.Data, &d) == nil { // Apply has counted what cannot be read
				add(d.Made, false)
			}
		}
		if t := st.Tasks.ByID[e.Task]; t != nil && t.Result != nil && t.Result.Patch != nil {
			add(run.Made{Commit: t.Result.Patch.Commit, Pack: t.Result.Patch.Pack}, true)
		}
	})
	return out, err
}

// share puts what a merge has made where another machine finds it, or a mirror that is made again, before an event refers to it.
// The patches are there already.
func (c *patches) share(ctx context.Context, commit, onto string, patches ...string) error {
	if commit == onto {
		return nil
	}
	var data bytes.Buffer
	if err := c.cfg.Mirror.PackTo(ctx, &data, commit, append(patches, onto)...); err != nil {
		return err
	}
	name := wire.Name(wire.SealedCommits, data.Bytes())
	if err := c.cfg.Bus.Put(ctx, name, data.Bytes()); err != nil {
		return err
	}
	return c.append(ctx, run.Append{Data: run.Data{Made: run.Made{Commit: commit, Pack: name}}})
}

// lookRestored finds out whether the log of the run continues from a copy of it.
func (c *queue) lookRestored(ctx context.Context) error {
	m, err := c.cfg.Bus.Last(ctx, bus.RestoredSubject)
	if err != nil {
		return fmt.Errorf("look whether the log of run %s is a copy: %w", c.cfg.Run, err)
	}
	if m != nil && c.st.First < m.Pos {
		c.restored = m.Pos
	}
	return nil
}

// claim takes an attempt over before a copy of the log gives it out.
func (c *queue) claim(ctx context.Context, d run.Dispatch) error {
	if c.restored == 0 {
		return nil
	}
	a := &wire.Assignment{Run: c.cfg.Run, Task: spec.Task{ID: d.Task}, Attempt: d.Attempt, Role: spec.Role{Name: d.Role}}
	return assign.Claim(ctx, c.cfg.Bus, a, c.restored, c.cfg.Clock, c.cfg.NewID)
}
