package conduct

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
	"divisi/orchestrator/run"
)

// maxProgram bounds, in bytes, a program of the repository that is compared.
const maxProgram = 4 << 20

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
func (h *Half) compareProgram(ctx context.Context, commit, name string) (missing string, differs bool, err error) {
	files, err := h.Mirror.FilesUnder(ctx, commit, name)
	if err != nil {
		return "", false, fmt.Errorf("look for the program %s: %w", name, err)
	}
	tracked, untracked, err := h.Git.Listed(ctx, h.Checkout, name)
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
	err = h.Mirror.ReadBlobs(ctx, files, func(e git.Entry, content []byte) error {
		here, err := os.ReadFile(filepath.Join(h.Checkout.Top, e.Path))
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("read the program %s: %w", e.Path, err)
		}
		differs = differs || !bytes.Equal(unixLines(here), unixLines(content))
		return nil
	})
	return "", differs, err
}

func unixLines(data []byte) []byte { return bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n")) }

// checkPrograms refuses a plan with a command that names what is in the checkout and not in the base commit, which its tasks
// have, or in neither; what git ignores is of the environment. Of a program that differs it makes a notice. A gate whose
// program is in neither is refused first.
func (h *Half) checkPrograms(ctx context.Context, o *Options) error {
	if h.Spec.Plan != nil && len(h.Spec.Plan.Tasks) == 0 { // no patch is to be compared with the base commit
		return nil
	}
	if err := h.checkGates(ctx, o); err != nil || h.Spec.Plan == nil {
		return err
	}
	seen := map[string]bool{}
	for _, t := range h.Spec.Plan.Tasks {
		role := h.Spec.Roles[t.Role]
		roles := []spec.Role{role, h.Spec.Roles[t.Judge(role, h.Spec.Roles, false)]}
		if len(t.Command) > 0 {
			roles[0].Command = t.Command
		}
		for _, r := range roles {
			if err := h.checkScript(ctx, &t, &r); err != nil {
				return err
			}
			for _, name := range programsIn(h.Checkout.Top, r.Command) {
				if seen[name] || spec.MatchAny(t.Files, name) {
					continue
				}
				seen[name] = true
				if err := h.checkProgram(ctx, r.Name, name); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (h *Half) checkProgram(ctx context.Context, role, name string) error {
	missing, differs, err := h.compareProgram(ctx, h.Spec.Base, name)
	switch {
	case err != nil:
		return err
	case missing != "":
		which := ", which"
		if missing != name {
			which = ", and " + missing
		}
		return usage.Errorf("the command of role %s names %s%s is in the checkout and not in the base commit %s: commit it first",
			role, name, which, short(h.Spec.Base))
	case differs:
		h.Notices = append(h.Notices,
			fmt.Sprintf("%s differs from the base commit %s, which this run uses: commit it first to run it "+
				"as it is here", name, short(h.Spec.Base)))
	}
	return nil
}

// stale are the notes about programs of the checkout that differ from those that tasks of a run have when they are tried again.
func (h *Half) stale(ctx context.Context, st *run.State, o *Retry) (notes []string, err error) {
	seen := map[string]bool{}
	for t := range st.Tasks.All() {
		if t.State != run.TaskParked {
			continue
		}
		if len(o.Tasks) > 0 && !slices.Contains(o.Tasks, t.Task.ID) && !slices.Contains(o.Tasks, t.Task.ShardOf) {
			continue
		}
		for _, name := range programsIn(h.Checkout.Top, commandAgain(st, o, t)) {
			if seen[name] || spec.MatchAny(t.Task.Files, name) {
				continue
			}
			seen[name] = true
			missing, differs, err := h.compareProgram(ctx, st.Head, name)
			if err != nil {
				return nil, err
			}
			if missing != "" || differs {
				notes = append(notes,
					fmt.Sprintf("%s differs from the base commit %s, which this run uses: commit it, merge the landed "+
						"commits, and start a new run", name, short(st.Spec.Base)))
			}
		}
	}
	return text.Few(notes, maxFields), nil
}

// commandAgain is the command of a task's next attempt, where it has one: that of its role as it is now, or its own.
func commandAgain(st *run.State, o *Retry, t *run.Task) []string {
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
