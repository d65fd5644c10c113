package attempt

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/request"
	"divisi/subagents/workspace"
)

// ReadTaken reads which attempt was checked out into a directory. One that Take did not make is a usage.Error.
func ReadTaken(dir string) (t Taken, err error) {
	top, err := filepath.Abs(dir)
	if err != nil {
		return t, fmt.Errorf("find the directory: %w", err)
	}
	if err := noPipes(top); err != nil {
		return t, err
	}
	data, err := os.ReadFile(filepath.Join(top, ".git", takenFile))
	if err == nil {
		err = json.Unmarshal(data, &t)
	}
	if err != nil || t.Attempt < 1 {
		return t, usage.Errorf("%s holds no attempt that was taken, or is not its top directory: there is no .git/%s",
			dir, takenFile)
	}
	t.Dir = git.Resolved(top)
	return t, nil
}

// noPipes refuses named pipes where git reads lists of ignored files, attributes and its own files: it would wait for a writer.
// Others it passes over.
func noPipes(top string) error {
	return filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		of := strings.Contains(filepath.ToSlash(strings.TrimPrefix(path, top)), "/.git")
		if err != nil || !of || e.Type()&fs.ModeNamedPipe == 0 {
			return nil // what cannot be read git reports
		}
		return usage.Errorf("%s is a named pipe, and git would wait for it: remove it, then give again", path)
	})
}

// hand signs the commits of people's patches; landing makes commits of its own.
var hand = git.Ident{Name: "Divisi", Email: "divisi@localhost"}

// Give makes one patch of all that a person has changed since the commit that the attempt started from, checks it, and stores its
// pack. The same content is the same patch. What cannot be given is a usage.Error; nothing is stored then.
func (a *Attempt) Give(ctx context.Context, taken Taken) (_ *spec.Patch, err error) {
	if a.format != nil {
		return nil, a.format
	}
	t, dir := a.st.Tasks.ByID[a.task], taken.Dir
	if t == nil || a.Head != taken.Base {
		return nil, usage.Errorf("%s/%d did not start from the commit %s, which %s names", a.task, taken.Attempt, taken.Base, dir)
	}
	if err := request.Givable(&a.st.Agenda, a.st.Works, t, taken.Base); err != nil && !a.st.Works.ByPerson(t) {
		return nil, usage.Errorf("%v", err)
	}
	private, err := os.MkdirTemp("", "divisi-give-")
	if err != nil {
		return nil, fmt.Errorf("make a private directory: %w", err)
	}
	defer func() { err = errors.Join(err, workspace.Remove(private)) }()
	slot, err := a.adopt(ctx, dir, private)
	if err != nil {
		return nil, err
	}
	p, pack, err := slot.Collect(ctx, a.Head, cmp.Or(t.Task.Title, t.Task.ID), hand, a.st.Spec.Created)
	var content *workspace.ContentError
	switch {
	case errors.As(err, &content):
		return nil, usage.Errorf("%s cannot be given: %s", dir, content.Why)
	case err != nil:
		return nil, err
	case p == nil:
		return nil, usage.Errorf("%s changes nothing: it is as the commit that %s/%d started from", dir, a.task, taken.Attempt)
	}
	set := t.WriteSet(a.st.Spec.Project.Protected)
	err = slot.Check(ctx, p, func(path string, made bool) bool { return set.RefuseChange(path, made) == "" })
	if errors.As(err, new(*git.PatchError)) {
		return nil, usage.Errorf("%v\nUndo that in %s, then give it again", err, dir)
	}
	if err != nil {
		return nil, err
	}
	return p, a.store(ctx, p, pack)
}

// store puts the pack of a person's patch into the object store.
func (a *Attempt) store(ctx context.Context, p *spec.Patch, pack []byte) error {
	p.Pack = "pack-" + p.Commit
	if err := a.bus.Put(ctx, p.Pack, pack); err != nil && !errors.Is(err, bus.ErrExists) {
		return fmt.Errorf("store the pack of %s: %w", p.Commit, err)
	}
	return nil
}

// adopt opens the directory of a person, which has nothing unfinished.
func (a *Attempt) adopt(ctx context.Context, dir, private string) (*workspace.Slot, error) {
	mirror, err := a.mirror(ctx)
	if err != nil {
		return nil, err
	}
	what, err := mirror.Git().Unfinished(ctx, filepath.Join(dir, ".git"))
	if what != "" {
		err = usage.Errorf("%s is in the middle of a %s: finish or abort it, then give it again", dir, what)
	}
	if err != nil {
		return nil, err
	}
	return workspace.Adopt(ctx, mirror, dir, private, a.Head)
}
