package orchestrator

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/subagents/checkout"
)

// takeCheckout takes what the trees of the run have of the user's checkout. Nothing else of a run reads it.
func (h *conduct) takeCheckout(ctx context.Context) (err error) {
	user := checkout.User{Git: h.git, Checkout: h.checkout}
	if err = h.takePast(ctx); err == nil && h.Elsewhere {
		err = h.lend(ctx, user)
	} else if err == nil {
		h.beside, err = h.besides(h.git).Take(ctx, user, h.mirror, h.spec.Base)
	}
	if err != nil {
		return err
	}
	if !h.Elsewhere && !h.beside.Empty() && !sandbox.ShowsLayers() {
		h.notices = append(h.notices, noLayers)
	} else {
		h.spec.Missing = h.beside.Missing()
		h.notices = append(h.notices, h.spec.Missing...)
	}
	if h.spec.Project.Environment.IsZero() {
		return nil
	}
	return h.takeEnvironment(ctx)
}

// takeEnvironment takes the ignored paths of the checkout that the project names. A run that goes on keeps those that it began
// with.
func (h *conduct) takeEnvironment(ctx context.Context) error {
	if h.resumes {
		if there, err := h.has(h.spec.Environment); there || err != nil {
			return err
		}
	}
	paths := h.spec.Project.Environment.Paths
	if err := h.checkPaths(ctx, paths); err != nil {
		return err
	}
	root, err := os.OpenRoot(h.checkout.Top)
	if err != nil {
		return fmt.Errorf("open the checkout: %w", err)
	}
	defer root.Close() // a handle
	e, err := h.fromCheckout(ctx, root, paths, h.notice)
	switch {
	case err != nil:
		return err
	case h.resumes && e.ID != h.spec.Environment:
		return usage.Errorf("the environment of run %s was removed, and the checkout has changed since: start a new run",
			h.spec.Run)
	}
	h.spec.Environment, h.spec.Derived, h.spec.Copies = e.ID, e.Derived(h.spec.Project.Derived), e.Copies
	h.notices = append(h.notices, e.Notes...)
	return nil
}

// checkPaths refuses paths of the checkout that are not there, that git does not ignore, or that the base commit has.
func (h *conduct) checkPaths(ctx context.Context, paths []string) error {
	ignored, err := h.git.Ignored(ctx, h.checkout)
	if err != nil {
		return err
	}
	if len(paths) == 0 {
		return usage.Errorf("environment: %s takes what git ignores in the checkout, and there is nothing that gates could need"+
			": install what the repository needs, then start again", spec.EnvironmentCheckout)
	}
	for _, name := range paths {
		if !slices.ContainsFunc(ignored, func(dir string) bool {
			dir = strings.TrimSuffix(dir, "/")
			return name == dir || strings.HasPrefix(name, dir+"/")
		}) {
			return usage.Errorf("environment names %s, and the checkout has no such path that git ignores: "+
				"install what the repository needs, then start again", name)
		}
	}
	tracked, err := h.mirror.FilesUnder(ctx, h.spec.Base, paths...)
	if err == nil && len(tracked) > 0 {
		err = usage.Errorf("environment takes paths that git ignores, and the base commit has %s", tracked[0].Path)
	}
	return err
}
