package conduct

import (
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/needs"
)

// lacks reports whether trees of the run surely do not have a file when they begin: neither the base commit nor the checkout has
// it, and no setup or environment may make it. What lies beyond a link or in a submodule is not certain.
func (h *Half) lacks(ctx context.Context, name string) (bool, error) {
	p := &h.Spec.Project
	if len(p.Setup.Command) > 0 || !p.Environment.IsZero() {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(h.Checkout.Top, filepath.FromSlash(name))); err == nil {
		return false, nil // checkProgram decides
	}
	above := []string{name}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	files, err := h.Mirror.FilesUnder(ctx, h.Spec.Base, above...)
	if err != nil {
		return false, fmt.Errorf("look for the program %s: %w", name, err)
	}
	return !slices.ContainsFunc(files, func(e git.Entry) bool {
		return slices.Contains(above, e.Path) || strings.HasPrefix(e.Path, name+"/")
	}), nil
}

// checkScript refuses a command of a role whose program or script no tree of the run can have. A role that continues with a
// model, and a file that another task of the plan may write, are left to the run.
func (h *Half) checkScript(ctx context.Context, t *spec.Task, r *spec.Role) error {
	name := needs.Script(r.Command)
	if name == "" || !r.Runs(spec.ExecutorCommand) || r.Runs(spec.ExecutorModel) {
		return nil
	}
	lacks, err := h.lacks(ctx, name)
	if err != nil || !lacks || slices.ContainsFunc(h.Spec.Plan.Tasks, func(u spec.Task) bool { return h.writes(&u, name) }) {
		return err
	}
	where := r.Source
	if r.Name == t.Role && len(t.Command) > 0 {
		where = "its task " + t.ID
	}
	return usage.Errorf("the command of role %s (%s) runs %s, which the base commit %s does not have, and no setup or "+
		"environment makes: commit it, correct the command, or name it in files of the task that makes it",
		r.Name, where, name, short(h.Spec.Base))
}

// writes reports whether a task may write a program that its own command does not begin with.
func (h *Half) writes(t *spec.Task, name string) bool {
	command := h.Spec.Roles[t.Role].Command
	if len(t.Command) > 0 {
		command = t.Command
	}
	return needs.Script(command) != name && (len(t.Files) == 0 || spec.MatchAny(t.Files, name))
}

// checkGates refuses a run whose first gate is a program of the repository that the base commit does not have: no patch could be
// compared with it. What runs before another gate may make its program.
func (h *Half) checkGates(ctx context.Context, o *Options) error {
	gates := h.Spec.Project.Gates
	if len(gates) == 0 || o.AllowUnverified {
		return nil
	}
	name, program := needs.Script(gates[0].Command), spec.ProgramOf(gates[0].Command)
	if name == "" || path.Clean(filepath.ToSlash(program)) != name {
		return nil
	}
	lacks, err := h.lacks(ctx, name)
	if err != nil || !lacks {
		return err
	}
	return usage.Errorf("gate %s: the base commit %s does not have its program %s, and no setup or environment makes it: commit "+
		"it, or correct the gate in %s", gates[0].Name, short(h.Spec.Base), program, projectFile)
}
