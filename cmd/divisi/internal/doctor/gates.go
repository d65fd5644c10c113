package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/subagents/gate/detect"
)

// gates reports which gates a run would have, and whether their programs are installed. They are not run. unread is why
// there is no checkout.
func (o Options) gates(ctx context.Context, p spec.Project, g *git.Git, checkout *git.Checkout, unread error) []Finding {
	how := "configured"
	if len(p.Gates) == 0 {
		how = "detected"
		err := unread
		if err == nil {
			var found detect.Proposal
			found, err = Proposed(ctx, g, checkout, detect.Options{Has: detect.Installed})
			p.Gates = found.Gates
		}
		switch {
		case errors.Is(err, git.ErrNotRepository):
			return []Finding{warn("gates", "name one with --repo", "%s is not a git repository", o.Top)}
		case errors.As(err, new(*git.PartialError)):
			return []Finding{warn("gates", "", "they cannot be detected before the clone has what it lacks")}
		case err != nil:
			return []Finding{bad("gates", o.Hint(err), "%v", err)}
		case len(p.Gates) == 0:
			return []Finding{warn("gates", "name your build and tests in .divisi/divisi.yaml: docs/project.md",
				"no gates are configured or detected: changes would land without proof")}
		}
	}
	found := make([]Finding, 0, len(p.Gates)+1)
	for _, g := range p.Gates {
		found = append(found, o.gate(g, how, len(p.Setup.Command) > 0))
	}
	if len(p.Setup.Command) > 0 {
		found = append(found, o.gate(spec.Gate{Name: "setup", Command: p.Setup.Command}, how, false))
	}
	return found
}

func (o Options) gate(g spec.Gate, how string, setup bool) Finding {
	program := g.Command[0]
	path, err := exec.LookPath(program)
	if strings.Contains(program, "/") && !filepath.IsAbs(program) {
		path, err = exec.LookPath(filepath.Join(o.Top, program))
	}
	what := fmt.Sprintf("%s (%s): %s", g.Name, how, strings.Join(g.Command, " "))
	switch {
	case err == nil:
		return fine("gates", "%s; %s is %s", what, program, path)
	case setup:
		return warn("gates", "check that setup installs it", "%s; the program %s was not found", what, program)
	}
	return bad("gates", "install "+program+", or put it on your PATH; setup can install it too: docs/project.md",
		"%s; the program %s was not found", what, program)
}

// Proposed holds the needs of the repository, as its files at the checked out commit show them.
func Proposed(ctx context.Context, g *git.Git, checkout *git.Checkout, o detect.Options) (p detect.Proposal, err error) {
	err = mirrored(ctx, g, checkout, func(mirror *git.Repo) error {
		p, err = detect.At(ctx, mirror, checkout.Head, o)
		return err
	})
	return p, err
}

// mirrored has a mirror of the checked out commit read.
func mirrored(ctx context.Context, g *git.Git, checkout *git.Checkout, read func(*git.Repo) error) (err error) {
	tmp, err := os.MkdirTemp("", "divisi-doctor-")
	if err != nil {
		return fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(tmp)) }()
	mirror, err := g.CreateMirror(ctx, filepath.Join(tmp, "repo.git"), checkout, checkout.Head)
	if err != nil {
		return err
	}
	return read(mirror)
}
