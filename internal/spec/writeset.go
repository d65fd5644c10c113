package spec

import (
	"fmt"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/text"
)

// WriteSet reports which paths of the repository an attempt may write. The tools and the check of the finished patch ask
// the same value, so that they cannot disagree.
type WriteSet struct {
	// Files are the task's paths and globs (doublestar); empty means anything that is not protected. A path without
	// wildcards also covers what lies below it.
	Files []string
	// Protected are globs that may be written only where an entry of Unlocked matches too.
	Protected []string
	Unlocked  []string
	// Creates are globs of files that the attempt may make where there are none.
	Creates []string
}

// WriteSet bounds the writes of an attempt. Every check of a path asks this value, and no other.
func (t *Task) WriteSet(protected []string) WriteSet {
	return WriteSet{Files: t.Files, Protected: protected, Unlocked: t.Unlocked, Creates: t.Creates}
}

// Unlocks returns the entries of a write set that name protected paths: those that lie inside a protected glob. ** does not name
// .github/workflows/ci.yml; .github/workflows/* does.
func Unlocks(files, protected []string) []string {
	var out []string
	for _, entry := range files {
		if protects(protected, entry) != "" {
			out = append(out, entry)
		}
	}
	return out
}

// RefuseNew returns why an attempt may not make a file at a slash-separated path below the root, or "".
func (w WriteSet) RefuseNew(name string) string {
	if problem := pathProblem(name); problem != "" {
		return fmt.Sprintf("%q: %s", name, problem)
	}
	if MatchAny(w.Creates, name) {
		w.Files = append(slices.Clip(w.Files), name)
	}
	return w.Refuse(name)
}

// RefuseChange is RefuseNew for a file that was made where some may be, else Refuse.
func (w WriteSet) RefuseChange(name string, made bool) string {
	if made && len(w.Creates) > 0 {
		return w.RefuseNew(name)
	}
	return w.Refuse(name)
}

// Refuse returns why a slash-separated path below the root may not be changed, or "". The repository can have names that none may
// be given: they can be removed.
func (w WriteSet) Refuse(name string) string {
	if problem := placeProblem(name); problem != "" {
		return fmt.Sprintf("%q: %s", name, problem)
	}
	guard := w.guard(name)
	if guard != "" {
		guard = fmt.Sprintf("protected (%s), and the plan does not name it in this task's files", guard)
	}
	switch outside := len(w.Files) > 0 && !MatchAny(w.Files, name); {
	case outside && MatchAny(w.Creates, name) && guard == "":
		return name + " exists already, and is not this task's: creates lets it make new files alone"
	case outside && guard != "":
		return fmt.Sprintf("%s is outside this task's write set, and %s", name, guard)
	case outside:
		return fmt.Sprintf("%s is outside this task's write set: %s", name, text.Some(w.Files, maxFiles))
	case guard != "":
		return name + " is " + guard
	}
	return ""
}

// maxFiles bounds the files of a write set that a message lists.
const maxFiles = 20

// guard returns the protected glob that forbids the path, or "".
func (w WriteSet) guard(name string) string {
	for _, glob := range w.Protected {
		only := []string{glob}
		if protects(only, name) != "" && !w.names(only, name) {
			return glob
		}
	}
	return ""
}

func (w WriteSet) names(glob []string, name string) bool {
	for _, entry := range w.Unlocked {
		if matches(entry, name) && protects(glob, entry) != "" {
			return true
		}
	}
	return false
}

// MatchAny reports whether one of the globs matches a slash-separated path. A glob without wildcards also matches what
// lies below it; a malformed glob matches nothing.
func MatchAny(globs []string, name string) bool {
	for _, glob := range globs {
		if matches(glob, name) {
			return true
		}
	}
	return false
}

func matches(glob, name string) bool {
	if glob == name { // also where a literal path holds wildcard characters, such as app/[id]/page.tsx
		return true
	}
	if !strings.ContainsAny(glob, "*?[{\\") {
		return strings.HasPrefix(name, glob+"/")
	}
	ok, err := doublestar.Match(glob, name)
	return err == nil && ok
}

// pathProblem gives the reason why a path or glob cannot stand for something inside the repository, or "".
func pathProblem(name string) string {
	switch {
	case !utf8.ValidString(name):
		return "the path is not UTF-8"
	case strings.ContainsFunc(name, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return "the path contains a control character"
	case strings.Contains(name, `\`):
		return "the path contains a backslash; separate directories with /"
	}
	return placeProblem(name)
}

// placeProblem gives the reason why a path does not lead to a place in the repository, or "".
func placeProblem(name string) string {
	switch {
	case name == "":
		return "the path is empty"
	case strings.HasPrefix(name, "/") || strings.HasPrefix(name, "~"):
		return "the path is not relative to the repository"
	case len(name) > 1 && name[1] == ':' && isLetter(name[0]):
		return "the path names a drive"
	}
	for _, part := range strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune("/{},", r) }) {
		if part == ".." {
			return "the path leaves the repository"
		}
		if GitDir(part) {
			return "the path reaches into .git"
		}
	}
	return ""
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }

// GitDir reports whether a part of a path is .git, in any spelling of file systems that fold case, dots or short names.
func GitDir(part string) bool {
	folded := strings.ToLower(strings.TrimRight(part, ". "))
	return folded == ".git" || folded == "git~1"
}

// glob faults a glob of files in the repository.
func (p *problems) glob(path, glob string) {
	if problem := pathProblem(glob); problem != "" {
		p.addf(path, "", "%q: %s", glob, problem)
	} else if !doublestar.ValidatePattern(glob) {
		p.addf(path, "", "%q: the glob is malformed", glob)
	}
}

// maxBraces bounds the alternatives of a glob: each pair of braces can double the time of a match.
const maxBraces = 8

// globProblem gives the reason why an entry of a write set is wrong, or ""; the second value is what to write instead.
func globProblem(entry string) (problem, instead string) {
	if problem := pathProblem(entry); problem != "" {
		return problem, ""
	}
	if !doublestar.ValidatePattern(entry) || strings.Count(entry, "{") > maxBraces {
		return "the glob is malformed, or has too many braces", ""
	}
	if strings.HasSuffix(entry, "/") {
		return "a directory is written as a glob", entry + "**"
	}
	if clean := path.Clean(entry); clean != entry {
		return "the path is not in its plain form", clean
	}
	if entry == "." {
		return "the whole repository is written as a glob", "**"
	}
	return "", ""
}
