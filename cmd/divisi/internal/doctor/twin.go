package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/twin"
)

// Trying is a comparison of the sandbox with the user's shell.
type Trying struct {
	// Run is one that tried setup and gates in the sandbox, on the commit Base.
	Run, Base string
	// Project has the commands that a person agreed to run outside the sandbox.
	Project *spec.Project
	// Doing is told what runs.
	Doing func(string)
}

// Twin compares what setup and gates did in the sandbox with the user's shell, and returns a finding for each difference.
func (o Options) Twin(ctx context.Context, t Trying) ([]Finding, error) {
	st, _, err := o.Store.State(ctx, t.Run)
	if err != nil {
		return nil, err
	}
	gates := slices.DeleteFunc(slices.Clone(st.Spec.Project.Gates), func(g spec.Gate) bool { return !among(t.Project.Gates, g) })
	var receipts []spec.Receipt
	for _, g := range st.Spec.Project.Gates {
		if r, ok := st.Proofs.Baseline[g.Name]; ok {
			receipts = append(receipts, r)
		}
	}
	r, err := twin.Compare(ctx, twin.Options{
		State: o.Store.Path, Repo: o.Top, Base: t.Base, Setup: t.Project.Setup.Command, Services: t.Project.Services,
		Env: st.Spec.Project.Env, Environ: os.Environ(), Gates: gates, Doing: t.Doing, Confined: twin.Confined(st, receipts),
	})
	if err != nil {
		return nil, fmt.Errorf("compare with your shell: %w", err)
	}
	found := differences(r)
	if len(r.Skipped) > 0 {
		found = append(found, warn("twin", "", "%s", r.NotCompared()))
	}
	return found, nil
}

// among reports whether a list has a gate with its command.
func among(gates []spec.Gate, one spec.Gate) bool {
	return slices.ContainsFunc(gates, func(g spec.Gate) bool {
		return g.Name == one.Name && slices.Equal(g.Command, one.Command)
	})
}

// differences makes a finding of each difference.
func differences(r *twin.Report) (found []Finding) {
	for i := range r.Differences {
		d := &r.Differences[i]
		f := warn("twin", d.Do, "%s", d)
		f.Cause = string(d.Cause)
		found = append(found, f)
	}
	if len(r.Equal) > 0 {
		found = append(found, fine("twin", "the same in the sandbox and in your shell: %s", strings.Join(r.Equal, ", ")))
	}
	if len(r.Left) > 0 {
		found = append(found, fine("twin", "your shell left %s in the clone: %s", text.Count(len(r.Left), "path"),
			text.OneLine(text.Some(r.Left, maxHidden))))
	}
	return found
}

// Commands returns what a run would try in the repository: of its project file, else of a proposal, whose file is not empty then.
func (o Options) Commands(ctx context.Context, dir string, project *spec.Project) (file string, gates []spec.Gate, err error) {
	if len(project.Gates) > 0 {
		return "", project.Gates, nil
	}
	p, err := o.Propose(ctx, dir)
	if err != nil {
		return "", nil, err
	}
	if _, err := os.Lstat(filepath.Join(p.Top, ".divisi/divisi.yaml")); errors.Is(err, fs.ErrNotExist) {
		file = p.File(nil)
	}
	return file, p.found.Gates, nil
}
