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
	"divisi/orchestrator/sample"
)

func newDemo(g *globals) *cobra.Command {
	o := runOptions{trust: true} // the sample is Divisi's own
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
	o.tapeFlags(c)
	o.sandboxFlag(c)
	return c
}

func (g *globals) demo(ctx context.Context, o runOptions) error {
	gitCLI, err := git.New(ctx)
	if err != nil {
		return err
	}
	o.plan, o.demo = "plan.yaml", true
	if err := o.check(nil, g); err != nil {
		return err
	}
	dir, made, err := g.demoDir(o.repo)
	if err != nil {
		return err
	}
	o.repo, o.plan = filepath.Join(dir, "harbour"), filepath.Join(dir, "plan.yaml")
	begun, err := g.playDemo(ctx, gitCLI, o)
	if begun {
		return err
	}
	remove := []string{o.repo, o.plan} // a demo that could not begin leaves nothing behind
	if made {
		remove = []string{dir}
	}
	for _, path := range remove {
		err = errors.Join(err, os.RemoveAll(path))
	}
	return err
}

// playDemo makes the sample repository and carries the built-in plan out on it. It says whether a run has begun.
func (g *globals) playDemo(ctx context.Context, gitCLI *git.Git, o runOptions) (begun bool, err error) {
	if err := sample.Make(ctx, gitCLI, o.repo); err != nil {
		return false, err
	}
	text, err := sample.PlanFile()
	if err != nil {
		return false, err
	}
	if err := os.WriteFile(o.plan, text, 0o600); err != nil {
		return false, fmt.Errorf("write the demo's plan: %w", err)
	}
	if !g.json() {
		fmt.Fprintf(g.out, "sample repository: %s\nplan: %s\n", o.repo, o.plan)
	}
	h, err := g.prepare(ctx, nil, o)
	if err != nil {
		return false, err
	}
	err = g.begin(ctx, h, o)
	return h.begun, err
}

// demos is what the names of this state directory's demos have in common: another one's runs may still work on theirs.
func (g *globals) demos() string {
	digest := sha256.Sum256([]byte(g.stateDir))
	return "demo-" + hex.EncodeToString(digest[:4])
}

// demoDir chooses where the sample repository and its plan go, and says whether it made the directory. One that holds
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
