package conductor

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/git"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Restore brings into a mirror what the log of its run refers to and the mirror lacks, because the conductor before this one had
// another: the commits that it made, and the patches that agents made. What a conductor refuses of a patch it has refused then.
func Restore(ctx context.Context, b *bus.Bus, id string, mirror *git.Repo) error {
	made, err := packed(ctx, b, id)
	if err != nil {
		return err
	}
	got := map[string]bool{}
	for _, m := range made {
		has, err := mirror.Has(ctx, m.Commit)
		if err != nil {
			return err
		}
		if has || got[m.Pack] {
			continue
		}
		var data []byte
		if m.agents {
			data, err = b.Get(ctx, m.Pack)
		} else {
			data, err = wire.Open(ctx, b, wire.SealedCommits, m.Pack)
		}
		if err == nil {
			err = mirror.ImportFrom(ctx, bytes.NewReader(data)) // it was judged then
		}
		if m.agents && refused(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("get commit %s of run %s: %w", m.Commit, id, err)
		}
		got[m.Pack] = true
	}
	return nil
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
	for batch, err := range (Log{Bus: b, Run: id}).Read(ctx, 0) {
		if err != nil {
			return nil, fmt.Errorf("read the log of run %s: %w", id, err)
		}
		for i := range batch.Events {
			e := &batch.Events[i]
			if err := st.Apply(e); err != nil {
				return nil, err
			}
			if e.Kind == contextscope.KindRun {
				var d run.Data
				if json.Unmarshal(e.Data, &d) == nil { // Apply has counted what cannot be read
					add(d.Made, false)
				}
			}
			if t := st.Tasks.ByID[e.Task]; t != nil && t.Result != nil && t.Result.Patch != nil {
				add(run.Made{Commit: t.Result.Patch.Commit, Pack: t.Result.Patch.Pack}, true)
			}
		}
	}
	return out, nil
}

// share puts what a merge has made where another machine finds it, before an event refers to it.
func (c *Conductor) share(ctx context.Context, commit, onto string) error {
	if !c.cfg.Elsewhere || commit == onto {
		return nil
	}
	data, err := c.cfg.Mirror.Pack(ctx, commit, onto)
	if err != nil {
		return err
	}
	name := wire.Name(wire.SealedCommits, data)
	if err := c.cfg.Bus.Put(ctx, name, data); err != nil {
		return err
	}
	return c.append(ctx, run.Append{Data: run.Data{Made: run.Made{Commit: commit, Pack: name}}})
}
