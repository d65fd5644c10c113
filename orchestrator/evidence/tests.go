package evidence

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
)

// Objects are where the bus keeps blobs by name.
type Objects = testnames.Objects

// Inspect looks up which tests of the base commit did not run, and reads the patches that may explain it.
func Inspect(
	ctx context.Context, mirror *git.Repo, objects Objects, st *run.State, a proof.Inspect,
) (found proof.Inspection, err error) {
	missing, gone, err := missing(ctx, objects, st, a)
	if err != nil {
		return found, fmt.Errorf("find the tests that did not run: %w", err)
	}
	if len(missing) > 0 {
		if found.Doubts, err = doubts(ctx, mirror, objects, a.Spans, missing); err != nil {
			return found, fmt.Errorf("find why tests did not run: %w", err)
		}
	}
	if len(found.Doubts) == 0 {
		found.Gone, err = storeTests(ctx, objects, gone)
	}
	return found, err
}

// missing returns, by gate, the tests that no doubt has allowed to be missing, and all that are gone from the base commit with
// them, where these are others than before.
func missing(
	ctx context.Context, objects Objects, st *run.State, a proof.Inspect,
) (missing map[string]acceptance.Lost, gone map[string]testnames.List, err error) {
	missing, gone = map[string]acceptance.Lost{}, map[string]testnames.List{}
	for _, r := range a.Receipts {
		lists, before := make([]testnames.List, 5), cmp.Or(st.Proofs.Before(r), &spec.Receipt{})
		for i, names := range [][]string{
			named(r.Missing), before.Names, named(st.Batches.Gone[r.Gate]), named(r.MissingSkipped), r.Names,
		} {
			if lists[i], err = testnames.Load(ctx, objects, names...); err != nil {
				return nil, nil, err
			}
		}
		lost, still := lists[0].In(lists[1]).Without(lists[2]), lists[2]
		if a.Back {
			still = still.In(lists[0])
		}
		if len(lost) == 0 && len(still) == len(lists[2]) {
			continue
		}
		gone[r.Gate] = still.And(lost)
		for _, name := range a.Allowed[r.Gate] {
			allowed, err := testnames.Load(ctx, objects, name)
			if err != nil {
				return nil, nil, err
			}
			lost = lost.Without(allowed)
		}
		if len(lost) > 0 {
			missing[r.Gate] = acceptance.LostTests(lost, lists[3].And(missing[r.Gate].Skipped), lists[4], lists[1])
		}
	}
	return missing, gone, nil
}

// named is a list of the one object that a name stands for; empty for no name.
func named(object string) []string {
	if object == "" {
		return nil
	}
	return []string{object}
}

// doubts are those about tests that the patches do not explain, by task.
func doubts(
	ctx context.Context, mirror *git.Repo, objects Objects, of []proof.Span, missing map[string]acceptance.Lost,
) (map[string]run.Doubt, error) {
	e := acceptance.NewExplainer(missing)
	for _, span := range of {
		changes, err := Changes(ctx, mirror, &spec.Patch{Base: span.From, Commit: span.To})
		if err != nil {
			return nil, err
		}
		e.Read(span, changes)
	}
	doubts := map[string]run.Doubt{}
	for task, tests := range e.Asked() {
		names, err := storeTests(ctx, objects, tests)
		if err != nil {
			return nil, err
		}
		d := run.Doubt{Missing: names}
		for _, gate := range slices.Sorted(maps.Keys(tests)) {
			evidence, kinds := acceptance.MissingIn(gate, tests[gate], missing[gate].Skipped)
			d.Evidence, d.Kinds = append(d.Evidence, evidence...), append(d.Kinds, kinds...)
		}
		doubts[task] = d
	}
	return doubts, nil
}

// storeTests stores lists of tests, by gate, and returns the names of the objects.
func storeTests(
	ctx context.Context, objects Objects, lists map[string]testnames.List,
) (names map[string]string, err error) {
	for gate, tests := range lists {
		name, err := testnames.Store(ctx, objects, tests)
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

// Compare reports how the tests differ that passed on the base commit in two environments.
func Compare(ctx context.Context, objects Objects, first, second spec.Receipt) (d proof.Difference, err error) {
	var lists [2]testnames.List
	for i, r := range []spec.Receipt{first, second} {
		if lists[i], err = testnames.Load(ctx, objects, r.Names...); err != nil {
			return d, err
		}
	}
	return proof.Differ(first, second, lists[0], lists[1]), nil
}
