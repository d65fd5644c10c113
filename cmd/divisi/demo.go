package main

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"divisi/internal/git"
	"divisi/orchestrator"
	"divisi/orchestrator/sample"
)

func newDemo(g *globals) *cobra.Command {
	o := runOptions{trust: true} // the sample is Divisi's own
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a sample refactor: no key, no setup",
		Long: `Make a sample Go repository of 24 packages in a temporary directory and move it off a deprecated helper
package with a built-in plan: shards in parallel, a codemod that is wrong once on purpose and is
caught by its tester, a landing queue, one branch. No key, no network. Go and git are needed.` +
			codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi demo\n  divisi demo --dashboard 127.0.0.1:8080",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.demo(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Repo, "dir", "", "make the sample repository here instead of in a temporary directory")
	f.IntVar(&o.Parallel, "parallel", 0, "agents at once (default 16)")
	f.StringVar(&o.Dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	f.StringVar(&o.NATS, "nats", "", "use the NATS server at this URL instead of the built-in one")
	o.hostFlags(c)
	return c
}

func (g *globals) demo(ctx context.Context, o runOptions) error {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err
	}
	dir, made, err := g.demoDir(o.Repo)
	if err != nil {
		return err
	}
	o.Sample, o.Repo, o.plan = true, filepath.Join(dir, "harbour"), filepath.Join(dir, "plan.yaml")
	v, r, err := g.beginDemo(ctx, gitCLI, o)
	if err == nil {
		return v.follow(ctx, r)
	}
	remove := []string{o.Repo, o.plan} // a demo that could not begin leaves nothing behind
	if made {
		remove = []string{dir}
	}
	for _, path := range remove {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// beginDemo makes the sample repository and begins the built-in plan on it.
func (g *globals) beginDemo(ctx context.Context, gitCLI *git.Git, o runOptions) (*view, *orchestrator.Run, error) {
	if err := sample.Make(ctx, gitCLI, o.Repo); err != nil {
		return nil, nil, err
	}
	text, err := sample.PlanFile()
	if err != nil {
		return nil, nil, err
	}
	if err := os.WriteFile(o.plan, text, 0o600); err != nil {
		return nil, nil, fmt.Errorf("write the demo's plan: %w", err)
	}
	if !g.json() {
		fmt.Fprintf(g.out, "sample repository: %s\nplan: %s\n", o.Repo, o.plan)
	}
	v, err := g.prepare(&o)
	if err != nil {
		return nil, nil, err
	}
	r, err := orchestrator.Start(g.log.WithContext(ctx), o.Options)
	return v, r, err
}

// demos is what the names of this state directory's demos have in common: another one's runs may still work on theirs.
func (g *globals) demos() string {
	digest := sha256.Sum256([]byte(g.stateDir))
	return "demo-" + hex.EncodeToString(digest[:4])
}

// demoDir chooses where the sample repository and its plan go, and reports whether it made the directory. One that holds
// anything is refused.
func (g *globals) demoDir(dir string) (abs string, made bool, err error) {
	if dir == "" {
		dir, err = os.MkdirTemp("", "divisi-"+g.demos()+"-")
		if err != nil {
			return "", false, fmt.Errorf("make a temporary directory: %w", err)
		}
		return dir, true, nil
	}
	if abs, err = filepath.Abs(dir); err != nil {
		return "", false, usagef("--dir %s: %v", dir, err)
	}
	entries, err := os.ReadDir(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return abs, true, nil
	case err != nil:
		return "", false, usagef("--dir: %v", err)
	case len(entries) > 0:
		return "", false, usagef("--dir %s is not empty", abs)
	}
	return abs, false, nil
}
