package needs

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
)

// lacks reports whether trees of the run surely do not have a file when they begin: neither the base commit nor the checkout has
// it, and no setup or environment may make it. What lies beyond a link or in a submodule is not certain.
func (b *Base) lacks(ctx context.Context, name string) (bool, error) {
	p := &b.Spec.Project
	if len(p.Setup.Command) > 0 || !p.Environment.IsZero() {
		return false, nil
	}
	if _, err := os.Stat(filepath.Join(b.Checkout.Top, filepath.FromSlash(name))); err == nil {
		return false, nil // checkProgram decides
	}
	above := []string{name}
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		above = append(above, dir)
	}
	files, err := b.Mirror.FilesUnder(ctx, b.Spec.Base, above...)
	if err != nil {
		return false, fmt.Errorf("look for the program %s: %w", name, err)
	}
	return !slices.ContainsFunc(files, func(e git.Entry) bool {
		return slices.Contains(above, e.Path) || strings.HasPrefix(e.Path, name+"/")
	}), nil
}

// checkScript refuses a command of a role whose program or script no tree of the run can have. A role that continues with a
// model, and a file that another task of the plan may write, are left to the run.
func (b *Base) checkScript(ctx context.Context, t *spec.Task, r *spec.Role) error {
	name := Script(r.Command)
	if name == "" || !r.Runs(spec.ExecutorCommand) || r.Runs(spec.ExecutorModel) {
		return nil
	}
	lacks, err := b.lacks(ctx, name)
	if err != nil || !lacks || slices.ContainsFunc(b.Spec.Plan.Tasks, func(u spec.Task) bool { return b.writes(&u, name) }) {
		return err
	}
	where := r.Source
	if r.Name == t.Role && len(t.Command) > 0 {
		where = "its task " + t.ID
	}
	return usage.Errorf("the command of role %s (%s) runs %s, which the base commit %.12s does not have, and no setup or "+
		"environment makes: commit it, correct the command, or name it in files of the task that makes it",
		r.Name, where, name, b.Spec.Base)
}

// writes reports whether a task may write a program that its own command does not begin with.
func (b *Base) writes(t *spec.Task, name string) bool {
	command := b.Spec.Roles[t.Role].Command
	if len(t.Command) > 0 {
		command = t.Command
	}
	return Script(command) != name && (len(t.Files) == 0 || spec.MatchAny(t.Files, name))
}

// checkGates refuses a run whose first gate is a program of the repository that the base commit does not have: no patch could be
// compared with it. What runs before another gate may make its program.
func (b *Base) checkGates(ctx context.Context) error {
	gates := b.Spec.Project.Gates
	if len(gates) == 0 {
		return nil
	}
	name, program := Script(gates[0].Command), spec.ProgramOf(gates[0].Command)
	if name == "" || path.Clean(filepath.ToSlash(program)) != name {
		return nil
	}
	lacks, err := b.lacks(ctx, name)
	if err != nil || !lacks {
		return err
	}
	return usage.Errorf("gate %s: the base commit %.12s does not have its program %s, and no setup or environment makes it: "+
		"commit it, or correct the gate in .divisi/divisi.yaml", gates[0].Name, b.Spec.Base, program)
}
