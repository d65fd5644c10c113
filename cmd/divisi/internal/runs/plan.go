package runs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/renameio/v2/maybe"
	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
)

// planFile is where divisi plan writes the plan.
type planFile struct {
	name           string
	force, written bool
}

// NewPlan makes divisi plan.
func NewPlan(g *Globals) *cobra.Command {
	var o Flags
	var file planFile
	c := &cobra.Command{
		Use:   `plan "GOAL" -o FILE`,
		Short: "Have a master agent plan, and write the plan to a file",
		Long: `Have a master agent read the code and plan, as divisi run "GOAL" does, and write its plan as a plan file.
Nothing of the plan starts, and the run stops. Read the file, change it, and run it with divisi run
--plan FILE. It has the tasks that change files, and the tasks that these depend on.

An existing file is kept: --force overwrites it.` + cli.CodesOfRuns(),
		Example: `  divisi plan "Move every package from log to slog" -o plan.yaml
  divisi run --plan plan.yaml`,
		Args: oneGoal,
		RunE: func(c *cobra.Command, args []string) error {
			if o.Goal = strings.TrimSpace(strings.Join(args, " ")); o.Goal == "" {
				return usage.Errorf(`missing goal: divisi plan "GOAL" -o plan.yaml`)
			}
			return g.plan(c.Context(), o, &file)
		},
	}
	f := c.Flags()
	f.StringVarP(&file.name, "out", "o", "plan.yaml", "the file to write")
	f.BoolVar(&file.force, "force", false, "overwrite the file")
	f.StringSliceVar(&o.roles, "role", nil, roleFiles)
	o.StartFlags(c)
	return c
}

// plan runs until there is a plan. That the run is stopped then is no failure.
func (g *Globals) plan(ctx context.Context, o Flags, file *planFile) error {
	if err := file.free(); err != nil {
		return err
	}
	again := g.Command() + " run --plan " + text.Shell(file.name) + o.inRepo()
	if o.project != "" {
		again += " --project " + text.Shell(o.project)
	}
	for _, role := range o.roles {
		again += " --role " + text.Shell(role)
	}
	o.WritePlan = func(_ context.Context, plan orchestrator.File) (string, error) {
		return "the plan is in " + file.name + "; run it with: " + again, file.write(plan.Data)
	}
	err := g.Start(ctx, o)
	var end *cli.EndError
	switch {
	case file.written && errors.As(err, &end) && end.Code == cli.CodeStopped:
		return g.Print(cli.Say("\nThe plan is in %s. Run it with:\n  %s\n", file.name, again))
	case err == nil, !file.written && errors.As(err, &end) && end.Code == cli.CodeParked:
		return cli.End(cli.CodeParked, "the master planned nothing that changes a file: "+file.name+" was not written")
	}
	return err
}

// free reports, as an error of usage, why the file cannot be written.
func (p *planFile) free() error {
	if info, err := os.Stat(filepath.Dir(p.name)); err != nil || !info.IsDir() {
		return usage.Errorf("--out %s: there is no directory %s", p.name, filepath.Dir(p.name))
	}
	switch info, err := os.Lstat(p.name); {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return usage.Errorf("--out %s: %v", p.name, err)
	case !p.force:
		return usage.Errorf("%s exists and was not changed: name another file with -o, or overwrite it with --force", p.name)
	case !info.Mode().IsRegular():
		return usage.Errorf("--out %s: it is not a regular file", p.name)
	}
	return nil
}

func (p *planFile) write(data []byte) error {
	if err := p.free(); err != nil {
		return err
	}
	if err := maybe.WriteFile(p.name, data, 0o644); err != nil {
		return fmt.Errorf("write the plan: %w", err)
	}
	p.written = true
	return nil
}
