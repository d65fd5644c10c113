package baseline

import (
	"context"

	"divisi/bus"
	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/gate/testnames"
)

// World stands for what git has in a work tree: the commit, refs and tags, and all that leads to it.
func (s *Store) World(parts ...any) string { return artifact.Digest([]byte(spec.JSONText(parts))) }

// KeepTests keeps a baseline with the tests that passed in every run on the base commit: those in the receipts of this run,
// by gate, and those that another baseline of its key is of.
func (s *Store) KeepTests(
	ctx context.Context, objects *bus.Bus, key string, k *run.KeptBaseline, receipts map[string]spec.Receipt,
) error {
	had, err := s.Kept(key)
	if err != nil || had == nil || had.Commit != k.Commit {
		had = &run.KeptBaseline{} // what is damaged, or of another commit, is replaced
	}
	k.Tests = map[string][]byte{}
	for i := range k.Receipts {
		r := &k.Receipts[i]
		tests, err := testnames.Load(ctx, objects, receipts[r.Gate].Names...)
		if err != nil {
			return err
		}
		for _, other := range had.Receipts {
			if other.Gate != r.Gate || len(other.Names) == 0 {
				continue
			}
			known, err := testnames.Decode(had.Tests[other.Names[0]])
			if err != nil {
				return err
			}
			tests = tests.In(known)
		}
		if r.Findings != "" {
			if k.Tests[r.Findings], err = objects.Get(ctx, r.Findings); err != nil {
				return err
			}
		}
		if r.Names = nil; len(tests) > 0 {
			data, err := tests.Encode()
			if err != nil {
				return err
			}
			r.Names = []string{testnames.Name(data)}
			k.Tests[r.Names[0]] = data
		}
	}
	return s.Keep(key, k)
}
