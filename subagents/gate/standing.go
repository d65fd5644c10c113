package gate

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
)

// unparsable matches findings that a file which cannot be read has: no later finding of a healthy file looks so.
var unparsable = lazyregexp.New(`(?i)\bsyntax|\bpars(?:e|ed|er|ing)\b|` +
	`\bunexpected (?:token|end|eof|indent)|\bun(?:terminated|closed|matched)\b`)

// standing knows the lines that the files which a batch changes had before it.
type standing struct {
	before  func(ctx context.Context, path string) ([]byte, error)
	changed []string
	lines   map[string]map[string]bool
}

// all reports whether a finding stands on old lines at all of its new places in files that the batch changes. One without a line,
// and one that a broken file has, is of the batch.
func (s *standing) all(ctx context.Context, places []spec.Finding, r, before *spec.Receipt, signature string) (bool, error) {
	own := func(file string) bool { return slices.Contains(s.changed, file) }
	files := slices.DeleteFunc(slices.Clone(r.Paths[signature]), func(file string) bool { return !own(file) })
	hidden := func(file string) bool { return isHidden(before.Hidden, file) }
	if len(files) == 0 || unparsable.MatchString(signature) && !slices.ContainsFunc(files, hidden) {
		return len(files) == 0, nil
	}
	found, fresh := 0, 0
	for _, f := range places {
		if f.Signature != signature || !own(f.File) {
			continue
		}
		old, err := s.had(ctx, f.File, f.Source)
		if err != nil {
			return false, err
		}
		if found++; !old {
			fresh++
		}
	}
	return found > 0 && fresh <= before.Count(signature), nil
}

// had reports whether a file had a line before the batch.
func (s *standing) had(ctx context.Context, file, source string) (bool, error) {
	if s.lines[file] == nil {
		text, err := s.before(ctx, file)
		if err != nil {
			return false, fmt.Errorf("read what a file of the batch was before: %w", err)
		}
		s.lines[file] = map[string]bool{}
		for line := range bytes.Lines(text) {
			s.lines[file][sourceOf(string(line))] = true
		}
	}
	return source != "" && s.lines[file][source], nil
}
