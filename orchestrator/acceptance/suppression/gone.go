package suppression

import (
	"bytes"
	"cmp"
	"path"
	"strings"

	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/acceptance/testsource/gosource"
)

var (
	// unread are directories that checkers leave out.
	unread = re(`(?i)(?:^|/)(?:third[_-]?party|fixtures?|__fixtures__|generated|gen|dist|build|out|\.[^/]+)/`)
	// header takes a file out of the reach of a checker.
	header = re(`(?m)^(?://|#|/\*)\s*(?:go:build\s+(?:ignore|never|none)\b|\+build\s+ignore\b|Code generated .* DO NOT EDIT|` +
		`.{0,20}@generated\b)`)
)

// leftOut reports whether checkers leave a file out, by its place, its kind or its head.
func leftOut(name string, content []byte) bool {
	return unread.MatchString(name) || testsource.IsApart(name) || read(name, nil) == nil || hasExtension(prose+data, name) ||
		header.Match(content[:min(len(content), 2<<10)])
}

// gone finds files of code that leave the reach of checkers, so that what was found in them goes too.
func gone(files []File) []Growth {
	deleted, excluded := Growth{Kind: "a file is gone"}, Growth{Kind: "a file leaves the reach of checkers"}
	fresh := newLines(files)
	for _, f := range files {
		switch {
		case f.Before == nil || leftOut(f.Path, f.Before):
		case f.After != nil && leftOut(f.Path, f.After),
			path.Ext(f.Path) == ".go" && gosource.LeftOut(f.Path, f.Before, f.After):
			excluded.add(f.Path, "it is left out now")
		case empty(f.Path, f.After):
			own, kept, to := lines(f.Before), 0, ""
			for line := range own {
				if out, has := fresh[line]; has {
					kept, to = kept+1, cmp.Or(to, out)
				}
			}
			if 2*kept < len(own) {
				deleted.add(f.Path, "most of it is in no other file")
			} else if to != "" {
				excluded.add(f.Path, "it is in "+to+" now")
			}
		}
	}
	return []Growth{deleted, excluded}
}

// newLines are the lines that a side has after a change and not before, and the file that has them where it is left out.
func newLines(files []File) map[string]string {
	fresh := map[string]string{}
	for _, f := range files {
		before, out := lines(f.Before), ""
		if f.After != nil && leftOut(f.Path, f.After) {
			out = f.Path
		}
		for line := range lines(f.After) {
			if !before[line] {
				fresh[line] = out
			}
		}
	}
	return fresh
}

// empty reports whether a file has no code that can be read.
func empty(name string, content []byte) bool {
	s := read(name, content)
	return s == nil || len(bytes.TrimSpace(s.code)) == 0
}

// lines are the lines of a text that say something.
func lines(content []byte) map[string]bool {
	all := map[string]bool{}
	for line := range strings.Lines(string(content)) {
		if line = strings.TrimSpace(line); len(line) > 3 {
			all[line] = true
		}
	}
	return all
}
