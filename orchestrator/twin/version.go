package twin

import (
	"context"
	"fmt"
	"path"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// versionTime bounds how long a program may take to tell its version.
const versionTime = 10 * time.Second

// others has a line for each program of the sandbox that has another version in the user's shell.
func (t *twin) others(ctx context.Context, programs []spec.Program) (lines []string, err error) {
	for _, p := range programs {
		name := path.Base(p.Path)
		if p.Version == "" {
			continue
		}
		said := &tail{}
		out, err := t.run(ctx, sandbox.Command{
			Args: []string{name, spec.VersionArg(name)}, Dir: t.tree, Env: t.environ, Timeout: versionTime, Sink: said,
		})
		if err != nil || !out.Success() {
			if err := context.Cause(ctx); err != nil {
				return nil, err
			}
			continue // what is missing fails the gate
		}
		if own := spec.VersionIn(said.String()); own != "" && own != p.Version {
			lines = append(lines, fmt.Sprintf("%s is %s in the sandbox, %s in your shell", name, p.Version, own))
		}
	}
	return lines, nil
}
