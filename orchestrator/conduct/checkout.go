package conduct

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/depot"
	"divisi/subagents/checkout"
)

// takeCheckout takes what the trees of the run have of the user's checkout. Nothing else of a run reads it.
func (h *Half) takeCheckout(ctx context.Context) (err error) {
	if err = h.TakePast(ctx); err == nil {
		err = h.workers().takeBeside(ctx, checkout.User{Git: h.Git, Checkout: h.Checkout})
	}
	if err != nil {
		return err
	}
	if h.Spec.Project.Environment.IsZero() {
		return nil
	}
	return h.takeEnvironment(ctx)
}

// noteMissing tells what trees lack of what is beside the files that git stores.
func (h *Half) noteMissing() {
	h.Spec.Missing = h.Beside.Missing()
	h.Notices = append(h.Notices, h.Spec.Missing...)
}

// takeEnvironment takes the ignored paths of the checkout that the project names. A run that continues keeps those that it began
// with.
func (h *Half) takeEnvironment(ctx context.Context) error {
	had := h.Spec.Environment
	if had != "" {
		if there, err := h.Has(had); there || err != nil {
			return err
		}
	}
	paths := h.Spec.Project.Environment.Paths
	if err := h.checkPaths(ctx, paths); err != nil {
		return err
	}
	root, err := os.OpenRoot(h.Checkout.Top)
	if err != nil {
		return fmt.Errorf("open the checkout: %w", err)
	}
	defer root.Close() // a handle
	e, err := h.FromCheckout(ctx, root, paths, h.notice)
	switch {
	case err != nil:
		return err
	case had != "" && e.ID != had:
		return usage.Errorf("the environment of run %s was removed, and the checkout has changed since: start a new run",
			h.Spec.Run)
	}
	h.Spec.Environment, h.Spec.Derived, h.Spec.Copies = e.ID, e.Derived(h.Spec.Project.Derived), e.Copies
	h.Notices = append(h.Notices, e.Notes...)
	return nil
}

// checkPaths refuses paths of the checkout that are not there, that git does not ignore, or that the base commit has.
func (h *Half) checkPaths(ctx context.Context, paths []string) error {
	ignored, err := h.Git.Ignored(ctx, h.Checkout)
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
			return usage.Errorf("environment names %s, and the checkout has no such ignored path: install the dependencies, "+
				"then start again", name)
		}
	}
	tracked, err := h.Mirror.FilesUnder(ctx, h.Spec.Base, paths...)
	if err == nil && len(tracked) > 0 {
		err = usage.Errorf("environment takes paths that git ignores, and the base commit has %s", tracked[0].Path)
	}
	return err
}

// findCaches finds the directory of a repository's caches. Each sample is another repository, and all have the same caches.
func (h *Half) findCaches(sample bool) error {
	id, err := h.Checkout.Identity()
	if sample {
		id = depot.SampleCaches
	}
	h.Find(id)
	return err
}
