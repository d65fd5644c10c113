package conductor

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// The most that the checks of a patch read: files, the bytes of one, and of all.
const (
	maxJudged      = 2000
	maxJudgedFile  = 2 << 20
	maxJudgedBytes = 64 << 20
)

// receive imports a patch into the mirror, strictly, has it checked for what no gate can see, and executes what follows.
func (c *Conductor) receive(ctx context.Context, a acceptance.Import) error {
	t := a.Task
	p := t.Result.Patch
	fail := func(err error) error { return fmt.Errorf("receive the patch of %s/%d: %w", t.Task.ID, t.Attempt, err) }
	if err := c.importPatch(ctx, t, p); refused(err) {
		f := spec.Fault{Class: wire.FaultWriteSet, Message: "the patch was refused", Detail: err.Error()}
		return c.execute(ctx, a.Then(&f, nil))
	} else if err != nil {
		return fail(err)
	}
	if !a.Judge || !slices.ContainsFunc(p.Files, acceptance.IsTest) {
		return c.execute(ctx, a.Then(nil, nil))
	}
	changes, err := changesOf(ctx, c.cfg.Mirror, p)
	if err != nil {
		return fail(err)
	}
	return c.execute(ctx, a.Then(nil, acceptance.Weakened(changes)))
}

// changesOf reads the test files of a patch, before and after.
func changesOf(ctx context.Context, mirror *git.Repo, p *spec.Patch) ([]acceptance.Change, error) {
	changed, err := mirror.Changed(ctx, p.Base, p.Commit)
	if err != nil {
		return nil, fmt.Errorf("list what %s changes: %w", p.Commit, err)
	}
	type side struct {
		change   *acceptance.Change
		mode, id string
		to       *[]byte
	}
	var entries []git.Entry
	var sides []side
	changed = slices.DeleteFunc(changed, func(c git.Change) bool { return !acceptance.IsTest(c.Path) })
	out := make([]acceptance.Change, len(changed))
	for i, c := range changed {
		out[i].Path = c.Path
		if i >= maxJudged {
			out[i].Unread = fmt.Sprintf("the patch changes %d such files, more than %d", len(changed), maxJudged)
			continue
		}
		for _, s := range []side{{&out[i], c.OldMode, c.OldOID, &out[i].Before}, {&out[i], c.NewMode, c.NewOID, &out[i].After}} {
			if s.mode == git.ModeFile || s.mode == git.ModeExec {
				entries, sides = append(entries, git.Entry{Path: c.Path, Mode: s.mode, OID: s.id}), append(sides, s)
			}
		}
	}
	read := 0
	err = mirror.ReadBlobs(ctx, entries, func(_ git.Entry, content []byte) error {
		s := sides[0]
		sides, read = sides[1:], read+len(content)
		switch {
		case len(content) > maxJudgedFile:
			s.change.Unread = fmt.Sprintf("it has %d bytes, more than %d", len(content), maxJudgedFile)
		case read > maxJudgedBytes:
			s.change.Unread = fmt.Sprintf("the files have more than %d bytes together", maxJudgedBytes)
		default:
			*s.to = append([]byte{}, content...) // never nil: the file is there
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what %s changes: %w", p.Commit, err)
	}
	return out, nil
}

// refused reports whether the patch is at fault, and not the machine: the same patch would fail at every resume.
func refused(err error) bool {
	var bad *git.PatchError
	return errors.As(err, &bad) || errors.Is(err, git.ErrPack) || errors.Is(err, git.ErrTooLarge) ||
		errors.Is(err, bus.ErrNotFound)
}

func (c *Conductor) importPatch(ctx context.Context, t *run.Task, p *spec.Patch) error {
	if head := c.st.Works[t.Task.ID].Attempts[t.Attempt].Head; p.Base != head {
		return &git.PatchError{Commit: p.Commit, Faults: []git.PatchFault{{
			Kind: git.FaultCommit, Text: "is not a commit on " + head,
		}}}
	}
	pack, err := c.cfg.Bus.Get(ctx, p.Pack)
	if err != nil {
		return fmt.Errorf("its pack %s: %w", p.Pack, err)
	}
	if err := c.cfg.Mirror.Import(ctx, pack); err != nil {
		return err
	}
	set := t.Task.WriteSet(c.st.Spec.Project.Protected)
	return git.CheckPatch(ctx, c.cfg.Mirror, *p, func(path string) bool { return set.Refuse(path) == "" })
}
