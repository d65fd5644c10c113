package gate

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"
)

// Mending is set for the gates of a batch that mends: what did not run before, and fails now, is no failure of the batch.
type Mending struct {
	// Named reports that the batch mends this very gate: it has to become green, or better. Through reports that it may be red in
	// the passage that the batch is a part of.
	Named, Through bool
	// Round reports that it is of a round of findings: what was not analysed before, also in a file that the batch changes, is
	// for the next round.
	Round bool
	// Passed are the tests that passed before. Changed returns the paths that the batch changes, Before the content of one before
	// it; nil where there was none.
	Passed  testnames.List
	Changed func(ctx context.Context) ([]string, error)
	Before  func(ctx context.Context, path string) ([]byte, error)

	// all are the findings of the gate at all of their places.
	all []spec.Finding
}

// notMended begins the signature of a gate that was to be mended and is not better.
const notMended = "not mended: "

// judge judges a gate that is red, whose failures have their paths.
func (m *Mending) judge(ctx context.Context, r *spec.Receipt, before *spec.Receipt) error {
	if m.Through && before != nil && !passed(*r) && !Cut(r) {
		r.Verdict = spec.VerdictPassage
		return nil
	}
	if passed(*r) || before == nil || passed(*before) {
		return nil
	}
	changed, err := m.Changed(ctx)
	if err != nil {
		return fmt.Errorf("list the changes of the batch: %w", err)
	}
	if r.Appeared, err = m.appeared(ctx, r, before, changed); err != nil {
		return err
	}
	why := Incomparable(*r)
	better := r.Failures()-beyond(r, before, r.Appeared) < before.Failures() || why == "" && Incomparable(*before) != ""
	switch {
	case len(NewSignatures(*r, before)) > len(r.Appeared), !m.Round && len(NewHidden(*r, before)) > 0:
		r.Verdict = spec.VerdictFail
	case m.Named && (Cut(r) || !better):
		r.Verdict = spec.VerdictFail
		why = notMended + cmp.Or(why, "as many failures as before")
		r.Signatures, r.Tail = append(r.Signatures, why), "error: "+why+"\n"+r.Tail
		slices.Sort(r.Signatures)
	case m.Named:
		r.Verdict = spec.VerdictBetter
	case Incomparable(*before) == "":
		r.Verdict = spec.VerdictBaseline
	}
	return nil
}

// Cut reports whether a gate did not run to its end, or has more failures than are kept: how many it has is not known.
func Cut(r *spec.Receipt) bool {
	return r.TimedOut || slices.ContainsFunc(r.Signatures, func(signature string) bool {
		return signature == overflowSignature || slices.ContainsFunc(cutShort, func(kind string) bool {
			return strings.HasPrefix(signature, kind)
		})
	})
}

// beyond counts the places of some signatures that are more than before.
func beyond(r, before *spec.Receipt, signatures []string) (n int) {
	for _, signature := range signatures {
		n += r.Count(signature) - before.Count(signature)
	}
	return n
}

// appeared are the new failures of what did not run before: tests, and findings in files that the batch does not change.
// In a round also those in files that it changes, on lines that stood there before.
func (m *Mending) appeared(ctx context.Context, r, before *spec.Receipt, changed []string) (list []string, err error) {
	stood := standing{before: m.Before, changed: changed, lines: map[string]map[string]bool{}}
	unknown := Incomparable(*before) != ""
	did := map[string]bool{}
	for _, test := range m.Passed {
		did["test: "+test.String()] = true
	}
	for _, signature := range NewSignatures(*r, before) {
		own := func(file string) bool { return slices.Contains(changed, file) }
		ran := slices.ContainsFunc(uncounted, func(kind string) bool { return strings.HasPrefix(signature, kind) })
		if m.Round && !ran && unmasked(r, before, signature) {
			old, err := stood.all(ctx, m.all, r, before, signature)
			if err != nil {
				return nil, err
			}
			if old {
				list = append(list, signature)
			}
			continue
		}
		did := did[signature] || !ran && slices.ContainsFunc(r.Paths[signature], own)
		if did || slices.ContainsFunc(cutShort, func(kind string) bool { return strings.HasPrefix(signature, kind) }) {
			continue
		}
		if unknown || slices.ContainsFunc(r.Paths[signature], func(p string) bool { return isHidden(before.Hidden, p) }) {
			list = append(list, signature)
		}
	}
	return list, nil
}

// unmasked reports whether a finding is of a part that was not analysed before: it was hidden, or what it imports was. A tool
// that is not known may report one finding of a file at a time.
func unmasked(r, before *spec.Receipt, signature string) bool {
	if slices.Contains(before.Hidden, spec.HiddenAll) {
		return !strings.HasPrefix(signature, overflowSignature)
	}
	return slices.ContainsFunc(r.Paths[signature], func(p string) bool {
		hidden := func(p string) bool { return isHidden(before.Hidden, p) }
		return hidden(p) || slices.ContainsFunc(r.Imports[path.Dir(p)], hidden) ||
			knownTool(r.Command).name == "" && slices.ContainsFunc(before.Signatures, func(had string) bool {
				return strings.HasPrefix(had, p+":") || strings.HasPrefix(had, p+"(")
			})
	})
}

// isHidden reports whether a path, a file's or a directory's, is in what did not run.
func isHidden(hidden []string, p string) bool {
	return slices.ContainsFunc(hidden, func(what string) bool {
		if dir, isPackage := strings.CutPrefix(what, "package: "); isPackage {
			return p == dir || path.Dir(p) == dir
		}
		return what == "." || p == what || strings.HasPrefix(p, what+"/")
	})
}
