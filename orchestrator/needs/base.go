package needs

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/act"
	"divisi/orchestrator/run"
)

// Base is the base commit of a run, which its trees have, and the checkout that the person sees.
type Base struct {
	Git      *git.Git
	Checkout *git.Checkout
	Mirror   *git.Repo
	Spec     *run.Spec
}

// maxProgram bounds, in bytes, a program of the repository that is compared.
const maxProgram = 4 << 20

// maxNotes bounds the notes about programs.
const maxNotes = 12

// programsIn lists what a command names of a checkout, as git names it: files, and directories that the command runs or that are
// Divisi's own. A program without a slash is one of PATH, and "run test" names a script.
func programsIn(top string, command []string) (paths []string) {
	for i, arg := range command {
		for _, name := range []string{arg, arg[strings.IndexByte(arg, '=')+1:]} {
			if i == 0 && !strings.Contains(name, "/") || !filepath.IsLocal(name) {
				continue
			}
			place := strings.Contains(name, "/")
			name = filepath.ToSlash(filepath.Clean(name))
			info, err := os.Stat(filepath.Join(top, name))
			if err != nil || slices.Contains(paths, name) {
				continue
			}
			runs := slices.Contains(command[:i], "run") && place && name != "." || strings.HasPrefix(name, ".divisi/")
			if info.Mode().IsRegular() || info.IsDir() && runs {
				paths = append(paths, name)
			}
		}
	}
	return paths
}

// compareProgram compares a file or a directory of the checkout with a commit: missing is a file that git lists there, of a
// program that the commit has nothing of. What git does not list is ignored, or lies beyond a link or in a submodule: it is not
// compared. Line ends do not count: git may have changed them.
func (b *Base) compareProgram(ctx context.Context, commit, name string) (missing string, differs bool, err error) {
	files, err := b.Mirror.FilesUnder(ctx, commit, name)
	if err != nil {
		return "", false, fmt.Errorf("look for the program %s: %w", name, err)
	}
	tracked, untracked, err := b.Git.Listed(ctx, b.Checkout, name)
	if err != nil {
		return "", false, err
	}
	if len(files) == 0 {
		untracked = append(untracked, tracked...)
	}
	if len(untracked) > 0 {
		return untracked[0], false, nil
	}
	differs = slices.ContainsFunc(tracked, func(p string) bool {
		return !slices.ContainsFunc(files, func(e git.Entry) bool { return e.Path == p })
	})
	files = slices.DeleteFunc(files, func(e git.Entry) bool {
		return e.Size > maxProgram || e.Mode != git.ModeFile && e.Mode != git.ModeExec
	})
	err = b.Mirror.ReadBlobs(ctx, files, func(e git.Entry, content []byte) error {
		here, err := os.ReadFile(filepath.Join(b.Checkout.Top, e.Path))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read the program %s: %w", e.Path, err)
		}
		differs = differs || !bytes.Equal(unixLines(here), unixLines(content))
		return nil
	})
	return "", differs, err
}

func unixLines(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// Check refuses a plan with a command that names what is in the checkout and not in the base commit, which its tasks
// have, or in neither; what git ignores is of the environment. It notes a program that differs. A gate whose
// program is in neither is refused first, unless changes may land unverified.
func (b *Base) Check(ctx context.Context, unverified bool) (notices []string, err error) {
	if b.Spec.Plan != nil && len(b.Spec.Plan.Tasks) == 0 { // no patch is to be compared with the base commit
		return nil, nil
	}
	if !unverified {
		err = b.checkGates(ctx)
	}
	if err != nil || b.Spec.Plan == nil {
		return nil, err
	}
	seen := map[string]bool{}
	for _, t := range b.Spec.Plan.Tasks {
		role := b.Spec.Roles[t.Role]
		roles := []spec.Role{role, b.Spec.Roles[t.Judge(role, b.Spec.Roles, false)]}
		if len(t.Command) > 0 {
			roles[0].Command = t.Command
		}
		for _, r := range roles {
			if err := b.checkScript(ctx, &t, &r); err != nil {
				return notices, err
			}
			for _, name := range programsIn(b.Checkout.Top, r.Command) {
				if seen[name] || spec.MatchAny(t.Files, name) {
					continue
				}
				seen[name] = true
				note, err := b.checkProgram(ctx, r.Name, name)
				if err != nil {
					return notices, err
				}
				notices = append(notices, note...)
			}
		}
	}
	return notices, nil
}

func (b *Base) checkProgram(ctx context.Context, role, name string) (notices []string, err error) {
	missing, differs, err := b.compareProgram(ctx, b.Spec.Base, name)
	switch {
	case err != nil:
		return nil, err
	case missing != "":
		which := ", which"
		if missing != name {
			which = ", and " + missing
		}
		return nil, usage.Errorf("the command of role %s names %s%s is in the checkout and not in the base commit %.12s: commit "+
			"it first", role, name, which, b.Spec.Base)
	case differs:
		return []string{fmt.Sprintf("%s differs from the base commit %.12s, which this run uses: commit it first to run it "+
			"as it is here", name, b.Spec.Base)}, nil
	}
	return nil, nil
}

// Stale are the notes about programs of the checkout that differ from those that tasks of a run have when they are tried again.
func (b *Base) Stale(ctx context.Context, st *run.State, o *act.Retry) (notes []string, err error) {
	seen := map[string]bool{}
	for t := range st.Tasks.All() {
		if t.State != run.TaskParked {
			continue
		}
		if len(o.Tasks) > 0 && !slices.Contains(o.Tasks, t.Task.ID) && !slices.Contains(o.Tasks, t.Task.ShardOf) {
			continue
		}
		for _, name := range programsIn(b.Checkout.Top, commandAgain(st, o, t)) {
			if seen[name] || spec.MatchAny(t.Task.Files, name) {
				continue
			}
			seen[name] = true
			missing, differs, err := b.compareProgram(ctx, st.Head, name)
			if err != nil {
				return nil, err
			}
			if missing != "" || differs {
				notes = append(notes,
					fmt.Sprintf("%s differs from the base commit %.12s, which this run uses: commit it, merge the landed "+
						"commits, and start a new run", name, st.Spec.Base))
			}
		}
	}
	return text.Few(notes, maxNotes), nil
}

// commandAgain is the command of a task's next attempt, where it has one: that of its role as it is now, or its own.
func commandAgain(st *run.State, o *act.Retry, t *run.Task) []string {
	name := cmp.Or(o.Role, t.Task.Role)
	role, changed := o.Changed.Roles[name]
	if !changed {
		role = st.Spec.Roles[name]
	}
	switch {
	case !role.Runs(spec.ExecutorCommand):
		return nil
	case o.Role != "" || slices.Equal(t.Task.Command, st.Spec.Roles[name].Command):
		return role.Command
	}
	return t.Task.Command
}
