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
	// Named reports that the batch mends this very gate: it has to become green, or better.
	Named bool
	// Passed are the tests that passed before. Changed returns the paths that the batch changes.
	Passed  testnames.List
	Changed func(ctx context.Context) ([]string, error)
}

// notMended begins the signature of a gate that was to be mended and is not better.
const notMended = "not mended: "

// judge judges a gate that is red, whose failures have their paths.
func (m *Mending) judge(ctx context.Context, r *spec.Receipt, before *spec.Receipt) error {
	if passed(*r) || before == nil || passed(*before) {
		return nil
	}
	changed, err := m.Changed(ctx)
	if err != nil {
		return fmt.Errorf("list the changes of the batch: %w", err)
	}
	r.Appeared = m.appeared(r, before, changed)
	why := Incomparable(*r)
	better := r.Failures()-beyond(r, before, r.Appeared) < before.Failures() || why == "" && Incomparable(*before) != ""
	switch {
	case len(NewSignatures(*r, before)) > len(r.Appeared), len(NewHidden(*r, before)) > 0:
		r.Verdict = spec.VerdictFail
	case m.Named && (cut(r) || !better):
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

// cut reports whether a gate did not run to its end, or has more failures than are kept: how many it has is not known.
func cut(r *spec.Receipt) bool {
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
func (m *Mending) appeared(r, before *spec.Receipt, changed []string) (list []string) {
	unknown := Incomparable(*before) != ""
	did := map[string]bool{}
	for _, test := range m.Passed {
		did["test: "+test.String()] = true
	}
	for _, signature := range NewSignatures(*r, before) {
		own := func(file string) bool { return slices.Contains(changed, file) }
		ran := slices.ContainsFunc(uncounted, func(kind string) bool { return strings.HasPrefix(signature, kind) })
		did := did[signature] || !ran && slices.ContainsFunc(r.Paths[signature], own)
		if did || slices.ContainsFunc(cutShort, func(kind string) bool { return strings.HasPrefix(signature, kind) }) {
			continue
		}
		if unknown || slices.ContainsFunc(r.Paths[signature], func(p string) bool { return isHidden(before.Hidden, p) }) {
			list = append(list, signature)
		}
	}
	return list
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
