package spec

import (
	"path"
	"strings"
)

// Intersect reports whether two write sets may meet, and at which path. A path without wildcards covers what lies below
// it. Globs are compared by their fixed prefixes, with each other and with what may be a directory (a name without a dot),
// so that it may report a meeting that cannot happen; it misses one only for a directory that looks like a file.
func Intersect(a, b []string) (string, bool) { return Against(a)(b) }

// Against prepares a write set for many questions whether another one may meet it.
func Against(a []string) func(b []string) (string, bool) {
	set := newPathSet(a)
	return func(b []string) (string, bool) {
		for _, p := range b {
			if at, ok := set.meets(p); ok {
				return at, true
			}
		}
		return "", false
	}
}

// pathSet is a write set prepared for many questions.
type pathSet struct {
	exact map[string]bool
	// above holds every directory over an exact path.
	above map[string]bool
	globs []string
}

func newPathSet(files []string) pathSet {
	s := pathSet{exact: make(map[string]bool, len(files)), above: map[string]bool{}}
	for _, p := range files {
		if IsGlob(p) {
			s.globs = append(s.globs, p)
			continue
		}
		p = path.Clean(p)
		s.exact[p] = true
		for d := path.Dir(p); d != "." && !s.above[d]; d = path.Dir(d) {
			s.above[d] = true
		}
	}
	return s
}

func (s pathSet) meets(p string) (string, bool) {
	if IsGlob(p) {
		return s.meetsGlob(p)
	}
	p = path.Clean(p)
	if s.above[p] {
		return p, true
	}
	for d := p; d != "."; d = path.Dir(d) {
		if s.exact[d] {
			return p, true
		}
	}
	for _, g := range s.globs {
		if globMeets(g, p) {
			return p, true
		}
	}
	return "", false
}

func (s pathSet) meetsGlob(glob string) (string, bool) {
	for e := range s.exact {
		if globMeets(glob, e) {
			return e, true
		}
	}
	for _, g := range s.globs {
		if mayMeet(glob, g) {
			return glob, true
		}
	}
	return "", false
}

// globMeets compares a glob with a path without wildcards, which may be a directory.
func globMeets(glob, p string) bool {
	prefix := FixedPrefix(glob)
	if !strings.HasPrefix(p+"/", prefix) { // it cannot match
		return strings.HasPrefix(prefix, p+"/")
	}
	return path.Ext(p) == "" || MatchAny([]string{glob}, p)
}

// mayMeet compares the texts before the first metacharacter.
func mayMeet(a, b string) bool {
	pa, pb := FixedPrefix(a), FixedPrefix(b)
	return strings.HasPrefix(pa, pb) || strings.HasPrefix(pb, pa)
}

// FixedPrefix returns the part of a glob before its first wildcard.
func FixedPrefix(glob string) string {
	if i := strings.IndexAny(glob, `*?[{\`); i >= 0 {
		return glob[:i]
	}
	return glob
}

// IsGlob reports whether an entry of a write set has wildcards.
func IsGlob(p string) bool { return strings.ContainsAny(p, `*?[{`) }
