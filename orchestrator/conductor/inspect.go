package conductor

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
)

// inspect looks up which tests of the base commit did not run, reads the patches that may explain it, and executes what follows.
func (c *Conductor) inspect(ctx context.Context, a proof.Inspect) error {
	missing, skipped, gone, err := c.missing(ctx, a)
	if err != nil {
		return fmt.Errorf("find the tests that did not run: %w", err)
	}
	var found proof.Inspection
	if len(missing) > 0 {
		if found.Doubts, err = c.doubts(ctx, a.Spans, missing, skipped); err != nil {
			return fmt.Errorf("find why tests did not run: %w", err)
		}
	}
	if len(found.Doubts) == 0 {
		if found.Gone, err = c.storeTests(ctx, gone); err != nil {
			return err
		}
	}
	return c.execute(ctx, a.Then(found))
}

// missing returns, by gate, the tests that no doubt has allowed to be missing, those of them that are skipped, and all that are
// gone from the base commit with them, where these are others than before.
func (c *Conductor) missing(
	ctx context.Context, a proof.Inspect,
) (missing, skipped, gone map[string]testnames.List, err error) {
	missing, skipped, gone = map[string]testnames.List{}, map[string]testnames.List{}, map[string]testnames.List{}
	for _, r := range a.Receipts {
		lists, before := make([]testnames.List, 4), cmp.Or(c.st.Proofs.Before(r), &spec.Receipt{})
		for i, names := range [][]string{
			named(r.Missing), before.Names, named(c.st.Batches.Gone[r.Gate]), named(r.MissingSkipped),
		} {
			if lists[i], err = testnames.Load(ctx, c.cfg.Bus, names...); err != nil {
				return nil, nil, nil, err
			}
		}
		lost, still := lists[0].In(lists[1]).Without(lists[2]), lists[2]
		if a.Back {
			still = still.In(lists[0])
		}
		if len(lost) == 0 && len(still) == len(lists[2]) {
			continue
		}
		gone[r.Gate], skipped[r.Gate] = still.And(lost), skipped[r.Gate].And(lists[3])
		for _, name := range a.Allowed[r.Gate] {
			allowed, err := testnames.Load(ctx, c.cfg.Bus, name)
			if err != nil {
				return nil, nil, nil, err
			}
			lost = lost.Without(allowed)
		}
		if len(lost) > 0 {
			missing[r.Gate] = lost
		}
	}
	return missing, skipped, gone, nil
}

// named is a list of the one object that a name stands for; empty for no name.
func named(object string) []string {
	if object == "" {
		return nil
	}
	return []string{object}
}

// doubts are those about tests that the patches do not explain, by task.
func (c *Conductor) doubts(
	ctx context.Context, of []proof.Span, missing, skipped map[string]testnames.List,
) (map[string]run.Doubt, error) {
	e := acceptance.NewExplainer(missing, skipped)
	for _, span := range of {
		changes, err := changesOf(ctx, c.cfg.Mirror, &spec.Patch{Base: span.From, Commit: span.To})
		if err != nil {
			return nil, err
		}
		e.Read(span, changes)
	}
	doubts := map[string]run.Doubt{}
	for task, tests := range e.Asked() {
		names, err := c.storeTests(ctx, tests)
		if err != nil {
			return nil, err
		}
		d := run.Doubt{Missing: names}
		for _, gate := range slices.Sorted(maps.Keys(tests)) {
			d.Evidence = append(d.Evidence, acceptance.MissingIn(gate, tests[gate], skipped[gate])...)
		}
		doubts[task] = d
	}
	return doubts, nil
}

// storeTests stores lists of tests, by gate, and returns the names of the objects.
func (c *Conductor) storeTests(ctx context.Context, lists map[string]testnames.List) (names map[string]string, err error) {
	for gate, tests := range lists {
		name, err := testnames.Store(ctx, c.cfg.Bus, tests)
		if err != nil {
			return nil, err
		}
		if names == nil {
			names = map[string]string{}
		}
		names[gate] = name
	}
	return names, nil
}
