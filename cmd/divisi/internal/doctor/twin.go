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

	"divisi/internal/shim"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/orchestrator/twin"
)

// Trying is a comparison of the sandbox with the user's shell.
type Trying struct {
	// Run is one that tried setup and gates in the sandbox, on the commit Base.
	Run, Base string
	// Setup and Gates are the commands that a person agreed to run outside the sandbox.
	Setup []string
	Gates []spec.Gate
	// Doing is told what runs.
	Doing func(string)
}

// Twin compares what setup and gates did in the sandbox with the user's shell, and returns a finding for each difference.
func (o Options) Twin(ctx context.Context, t Trying) ([]Finding, error) {
	st, _, err := o.Store.State(ctx, t.Run)
	if err != nil {
		return nil, err
	}
	if len(st.Spec.Project.Services) > 0 {
		t.Doing("the services of the project do not run: gates find those of this machine")
	}
	gates := slices.DeleteFunc(slices.Clone(st.Spec.Project.Gates), func(g spec.Gate) bool { return !among(t.Gates, g) })
	r, err := twin.Compare(ctx, twin.Options{
		State: o.Store.Path, Repo: o.Top, Base: t.Base, Setup: t.Setup, Env: st.Spec.Project.Env, Environ: os.Environ(),
		Gates: gates, Doing: t.Doing, Confined: o.confined(st),
	})
	if err != nil {
		return nil, fmt.Errorf("compare with your shell: %w", err)
	}
	found := differences(r)
	var left []string
	for _, g := range gates {
		if !slices.Contains(r.Equal, g.Name) && !slices.ContainsFunc(r.Differences, func(d twin.Difference) bool {
			return d.Gate == g.Name
		}) {
			left = append(left, g.Name)
		}
	}
	if len(left) > 0 {
		found = append(found, warn("twin", "", "not compared, because setup fails: %s", text.Some(left, maxHidden)))
	}
	return found, nil
}

// among reports whether a list has a gate with its command.
func among(gates []spec.Gate, one spec.Gate) bool {
	return slices.ContainsFunc(gates, func(g spec.Gate) bool {
		return g.Name == one.Name && slices.Equal(g.Command, one.Command)
	})
}

// maxRead bounds, in bytes, the part of an output that is read.
const maxRead = 1 << 20

// confined returns what setup and gates did in a run that tried them.
func (o Options) confined(st *run.State) (outcomes []twin.Outcome) {
	whole := func(object string) string {
		data, err := os.ReadFile(recovery.OutputFile(&st.Spec, object))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			o.Store.Log.Info().Err(err).Msg("the whole output is not known")
		}
		return text.End(string(data), maxRead)
	}
	if r := st.Works.Settled(run.SetupTask); r != nil && r.Error != nil {
		output := r.Error.Message + "\n" + r.Error.Detail + "\n" + whole(r.Error.Output)
		outcomes = append(outcomes, twin.Outcome{Gate: twin.Setup, Exit: 1, Output: output})
	}
	for _, g := range st.Spec.Project.Gates {
		r, ok := st.Proofs.Baseline[g.Name]
		if !ok {
			continue
		}
		one := twin.Of(&r, whole(r.Output))
		words := shim.Words([][]string{g.Command})
		for _, line := range st.Spec.Programs {
			if name, _, _ := strings.Cut(line, " "); slices.Contains(words, name) {
				one.Programs = append(one.Programs, line)
			}
		}
		outcomes = append(outcomes, one)
	}
	return outcomes
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
