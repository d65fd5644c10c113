package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/twin"
)

// Twin compares what setup and gates did in a run that tried them with the user's shell, and returns a finding for each
// difference. agreed are the commands that may run there, doing is told what runs.
func (o Options) Twin(ctx context.Context, id string, agreed []string, doing func(string)) (found []Finding, err error) {
	st, _, err := o.Store.State(ctx, id)
	if err != nil {
		return nil, err
	}
	r, err := twin.Prove(st, o.Store.Path, "", agreed, doing)(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare with your shell: %w", err)
	}
	for _, d := range r.Differences {
		f := warn("twin", d.Do, "%s", d.What)
		f.Cause = d.Cause
		found = append(found, f)
	}
	if len(r.Equal) > 0 {
		found = append(found, fine("twin", "the same in the sandbox and in your shell: %s", strings.Join(r.Equal, ", ")))
	}
	if len(r.Left) > 0 {
		found = append(found, fine("twin", "your shell left %s in the clone: %s", text.Count(len(r.Left), "path"),
			text.OneLine(text.Some(r.Left, maxHidden))))
	}
	return found, nil
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
