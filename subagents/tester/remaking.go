package tester

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
)

// stale are the places of the environment that are made from tracked files and that no run of the setup makes again for a patch.
func (t *Executor) stale(e *environment.Environment) []string {
	derived := e.Derived(t.Assignment.Project.Derived)
	if e.Remakes(derived) {
		return nil
	}
	return derived
}

// ofMachine matches what the machine lacked, maybe for a while: the next run tries again.
var ofMachine = lazyregexp.New(`(?i)no space left|cannot allocate memory|too many open files|was killed`)

// tryRemaking finds out, once for an environment, whether the setup makes again without network what it has derived from tracked
// files: then patches that touch these are tested with what becomes of them.
func (t *Executor) tryRemaking(ctx context.Context, e *environment.Environment) error {
	derived := e.Derived(t.Assignment.Project.Derived)
	if len(derived) == 0 || len(t.Assignment.Project.Regenerate) > 0 {
		return nil
	}
	lack, tried := e.Remade(derived)
	if !tried {
		var err error
		if lack, err = t.remake(ctx, e, derived); err != nil {
			return fmt.Errorf("find out whether setup makes %s again: %w", some(derived), err)
		}
		if err = t.Places.Lay(ctx, e); err == nil && !ofMachine.MatchString(lack) {
			err = e.KeepRemade(derived, lack)
		}
		if err != nil {
			return err
		}
	}
	if lack == "" {
		t.noted = append(t.noted, fmt.Sprintf("setup makes %s out of tracked files, and again without network for each patch "+
			"that touches what it reads", some(derived)))
		return nil
	}
	t.noted = append(t.noted, fmt.Sprintf("setup makes %s out of tracked files, and not again without network (%s): write to "+
		".divisi/divisi.yaml regenerate: [COMMAND], which makes them again, or derived: [], where no gate reads them",
		some(derived), lack))
	return nil
}

// remake is that other run; lack is why it does not do.
func (t *Executor) remake(ctx context.Context, e *environment.Environment, derived []string) (lack string, err error) {
	for _, name := range derived {
		if slices.Contains(e.Places, name) {
			return name + " is too large for each tree to have its own", nil
		}
	}
	h, err := t.setUpAgain(ctx, nil, derived)
	if h != nil {
		lack = h.why
	}
	for _, name := range derived {
		if err != nil || lack != "" {
			break
		}
		var before, after []string
		before, err = below(e.Lower(name))
		if err == nil {
			after, err = below(filepath.Join(t.Dir, filepath.FromSlash(name)))
		}
		if !slices.Equal(before, after) {
			lack = "where it is gone, setup does not make all of " + name
		}
	}
	_, restored := t.Restore(ctx)
	return lack, errors.Join(err, restored)
}

// below lists what is at a path; nothing where it is not there.
func below(top string) (names []string, err error) {
	err = filepath.WalkDir(top, func(name string, _ fs.DirEntry, err error) error {
		names = append(names, strings.TrimPrefix(name, top))
		return err
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// outdatedPlaces are what the setup derived from other files than those of the tested tree, and makes again.
func (t *Executor) outdatedPlaces(ctx context.Context) ([]string, error) {
	if t.Under == nil || len(t.Assignment.Project.Regenerate) > 0 {
		return nil, nil
	}
	derived := t.Under.Derived(t.Assignment.Project.Derived)
	if len(derived) == 0 || !t.Elsewhere && !t.Under.Remakes(derived) {
		return nil, nil // the run knows of it
	}
	tree := &environment.Tree{}
	var err error
	if tree.Blobs, err = t.Blobs(ctx); err == nil {
		tree.Outline, err = t.Outline(ctx)
	}
	if err != nil || t.Under.Fits(tree) {
		return nil, err
	}
	return derived, nil
}

// asGate is a setup as what reads files, and as what is red with an error in one. Of the scripts that a package manager runs its
// words tell nothing: it reads as an unknown command.
func asGate(command []string) spec.Gate { return spec.Gate{Name: "setup", Command: command} }

const unknown = "setup"

// findMadeOf finds the changed files that the setup has read to make places again: as a gate must read them, with probes where
// that is a question. Then it makes the places once more.
func (t *Executor) findMadeOf(
	ctx context.Context, reading *grade.Reading, where gate.Where, places []string,
) (*hindrance, error) {
	unread, questions, err := reading.Grades(ctx)
	if err != nil {
		return nil, fmt.Errorf("grade the files that setup reads: %w", err)
	}
	r, setup := spec.Receipt{Gate: "setup", Unread: unread}, asGate(t.Assignment.Project.Setup.Command)
	if len(questions) > 0 {
		ground := func() (Ground, error) { return t.groundAgain(places) }
		if err := t.probe(ctx, asked{setup, where, questions, reading.Copies(), ground}, questions, &r); err != nil {
			return nil, fmt.Errorf("probe what setup reads: %w", err)
		}
	}
	t.madeOf = map[string]bool{}
	for _, f := range *t.files {
		t.madeOf[f.Path] = r.UnreadOf(f.Path) == nil
	}
	if len(questions) == 0 {
		return nil, nil
	}
	return t.setUpAgain(ctx, nil, places)
}

// without takes places out of the tree: a setup that finds them may leave them as they are.
func (t *Executor) without(places []string) error {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	for _, name := range places {
		if err := root.RemoveAll(filepath.FromSlash(name)); err != nil {
			return fmt.Errorf("remove %s, to be made again: %w", name, err)
		}
	}
	return nil
}
