package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"divisi/internal/git"
	"divisi/orchestrator/sample"
)

func newDemo(g *globals) *cobra.Command {
	o := runOptions{}
	c := &cobra.Command{
		Use:   "demo",
		Short: "Show a refactor of a sample repository, with no key and nothing to set up",
		Long: `Make a sample Go repository of 24 packages in a temporary directory and move it off a deprecated helper
package with a built-in plan: shards in parallel, a codemod that is wrong once on purpose and is
caught by its tester, a landing queue, one branch. No key, no network. Go and git are needed.` +
			codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi demo\n  divisi demo --dashboard 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.demo(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.repo, "dir", "", "make the sample repository here instead of in a temporary directory")
	f.IntVar(&o.parallel, "parallel", 0, "agents at once (default 4)")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	f.StringVar(&o.nats, "nats", "", "use the NATS server at this URL instead of the built-in one")
	return c
}

func (g *globals) demo(ctx context.Context, o runOptions) error {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err //nolint:wrapcheck // it says what to install
	}
	dir, plan, err := demoDirs(o.repo)
	if err != nil {
		return err
	}
	if err := sample.Make(ctx, gitCLI, dir); err != nil {
		return err //nolint:wrapcheck // it says what was being made
	}
	text, err := sample.PlanFile()
	if err != nil {
		return err //nolint:wrapcheck // an embedded file
	}
	if err := os.WriteFile(plan, text, 0o600); err != nil {
		return fmt.Errorf("write the demo's plan: %w", err)
	}
	if !g.json() {
		fmt.Fprintf(g.out, "sample repository: %s\nplan: %s\n", dir, plan)
	}
	o.repo, o.plan = dir, plan
	return g.start(ctx, nil, o)
}

// demoDirs chooses where the sample repository and its plan go. A directory that holds anything is refused.
func demoDirs(dir string) (repo, plan string, err error) {
	if dir == "" {
		if dir, err = os.MkdirTemp("", "divisi-demo-"); err != nil {
			return "", "", fmt.Errorf("make a temporary directory: %w", err)
		}
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return "", "", usagef("--dir %s: %v", dir, err)
	}
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return "", "", fmt.Errorf("look into --dir: %w", err)
	}
	if len(entries) > 0 {
		return "", "", usagef("--dir %s is not empty", dir)
	}
	return filepath.Join(dir, "harbour"), filepath.Join(dir, "plan.yaml"), nil
}
