package gate

import (
	"context"
	"fmt"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// moved finds the failures beyond the baseline in files which the patch changed, while these files have in all no more of the
// kind than before: a line that went to another file, a file that got another name or was split.
func moved(ctx context.Context, r *spec.Receipt, names normaliser, where *Where) error {
	fresh := NewSignatures(*r, where.Baseline)
	if where.Baseline == nil || where.Changed == nil || len(where.Baseline.Signatures) == 0 || len(fresh) == 0 {
		return nil
	}
	paths, err := where.Changed(ctx)
	if err != nil {
		return fmt.Errorf("list the changes: %w", err)
	}
	changed := map[string]bool{}
	for _, p := range paths {
		changed[names.line(p)] = true
	}
	more := map[string]int{} // by kind
	count := func(r *spec.Receipt, sign int) {
		for _, signature := range r.Signatures {
			if file, kind := kindOfFinding(signature); changed[file] {
				more[kind] += sign * r.Count(signature)
			}
		}
	}
	count(r, 1)
	count(where.Baseline, -1)
	for _, signature := range fresh {
		if file, kind := kindOfFinding(signature); changed[file] && more[kind] <= 0 {
			r.Moved = append(r.Moved, signature)
		}
	}
	return nil
}

var (
	// The file of a finding in its signature, where places have no numbers: before the message, or after " in " at its end.
	fileBefore = lazyregexp.New(`^(?:build: )?(?i:(?:fatal error|error|warning): )?([^\s:()]*\.[A-Za-z]\w*)(?::| -) `)
	fileAfter  = lazyregexp.New(` in (\S*\.[A-Za-z]\w*)$`)
)

// kindOfFinding takes the file out of a signature; file is "" where it names none.
func kindOfFinding(signature string) (file, kind string) {
	if m := fileAfter.FindStringSubmatch(signature); m != nil {
		return m[1], strings.TrimSuffix(signature, m[0])
	}
	if m := fileBefore.FindStringSubmatch(signature); m != nil {
		return strings.TrimPrefix(m[1], "./"), strings.TrimPrefix(signature, m[0])
	}
	return "", signature
}
