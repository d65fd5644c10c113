package tester

import (
	"context"

	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"
)

// compare keeps, on the base commit and where a red gate is mended, which tests ran and passed, and elsewhere which of those did
// not, with what ran in their place. A gate that lets nothing through has failures of its own; one in full that ran no test and
// passes all the same is a tool that had nothing to do.
func (t *Executor) compare(ctx context.Context, r, before *spec.Receipt, tests *testnames.Tests) error {
	if t.Assignment.Base || t.mends() {
		var err error
		if r.Names, err = t.ran(ctx, tests); err != nil || t.Assignment.Base {
			return err
		}
	}
	if before == nil || r.Tests == 0 && r.Since == "" || !r.LetsThrough() ||
		t.Assignment.Passage != "" && r.Verdict != spec.VerdictPass {
		return nil
	}
	known, err := testnames.Load(ctx, t.Objects, before.Names...)
	if err != nil {
		return err
	}
	missing := tests.Missing(known, r.Since != "")
	if len(missing) > 0 && len(r.Names) == 0 {
		if r.Names, err = t.ran(ctx, tests); err != nil {
			return err
		}
	}
	if r.Missing, err = testnames.Store(ctx, t.Objects, missing); err == nil {
		r.MissingSkipped, err = testnames.Store(ctx, t.Objects, tests.Skipped(missing))
	}
	return err
}

// ran stores which tests ran and passed.
func (t *Executor) ran(ctx context.Context, tests *testnames.Tests) ([]string, error) {
	name, err := testnames.Store(ctx, t.Objects, tests.List())
	if name == "" {
		return nil, err
	}
	return []string{name}, err
}
