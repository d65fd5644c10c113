package git

import (
	"context"
	"regexp"
)

// Match calls visit with those of the named files whose content the expression matches, in the order of the entries. The content
// is valid only during the call.
func (r *Repo) Match(
	ctx context.Context, entries []Entry, files []string, re *regexp.Regexp, visit func(path string, content []byte),
) error {
	want := make(map[string]bool, len(files))
	for _, f := range files {
		want[f] = true
	}
	var asked []Entry
	for _, e := range entries {
		if want[e.Path] && (e.Mode == ModeFile || e.Mode == ModeExec) {
			asked = append(asked, e)
		}
	}
	return r.ReadBlobs(ctx, asked, func(e Entry, content []byte) error {
		if re.Match(content) {
			visit(e.Path, content)
		}
		return nil
	})
}
