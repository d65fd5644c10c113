package run

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// alone are the classes of faults that concern one attempt: the same one on other shards has another cause.
var alone = []string{wire.FaultConflict, wire.FaultInternal, wire.FaultCancelled, wire.FaultAssignment}

var (
	numbers = lazyregexp.New(`\d+`)
	// kinds are the words of a signature that come with any failure of its kind.
	kinds = lazyregexp.New(`(?i)\b(?:build|package|tests?|fail(?:ed|ure)?|errors?|setup)\b`)
	// letters returns the remainder of a signature that has more than its kind.
	letters = lazyregexp.New(`\pL{2}`)
	humps   = lazyregexp.New(`\p{Lu}?[\p{Ll}\d]+|\p{Lu}+|\d+`)
	// affixes mark the file of a test beside the one that it tests.
	affixes = lazyregexp.New(`^test_|_test$|[._](?:test|spec|d)$`)
)

// common are names of files and directories that are no shard's own.
var common = []string{
	"index", "main", "mod", "lib", "init", "doc", "src", "test", "tests", "pkg", "internal", "cmd", "util", "utils", "types",
	"app",
}

// ownPart stands for what is a shard's own in the shape of a failure.
const ownPart = "·"

// shapes are the failures of a shard without what is its own: paths, packages and names that are made of them. What says nothing
// more than that its package does not build is left out. The same failure of two shards has the same shape.
func shapes(t *spec.Task, f spec.Fault) []string {
	if slices.Contains(alone, f.Class) {
		return nil
	}
	if f.Class == wire.FaultWriteSet { // whatever the file is
		return []string{f.Class}
	}
	o := ownOf(t.Files)
	if len(f.Signatures) == 0 {
		return []string{o.strip(f.Class + ": " + numbers.ReplaceAllLiteralString(f.Message, "N"))}
	}
	var out []string
	for _, signature := range f.Signatures {
		gate, rest, found := strings.Cut(signature, ": ")
		if !found {
			gate, rest = "", signature
		}
		shape := o.strip(rest)
		if f.Class != wire.FaultGate || letters.MatchString(kinds.ReplaceAllLiteralString(shape, "")) {
			out = append(out, gate+": "+shape)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Shape is a text without what is a task's own.
func (t *Task) Shape(text string) string {
	return ownOf(append(t.Changes(), t.Task.Files...)).strip(text)
}

// own finds what is a shard's own in a text: its paths, and then its names.
type own struct{ paths, names *regexp.Regexp }

func ownOf(files []string) own {
	var paths, names []string
	for _, file := range files {
		dir := path.Dir(file)
		paths = append(paths, `(?:[\w.@~-]+/)*`+regexp.QuoteMeta(file)+`\b`)
		if strings.Contains(dir, "/") {
			paths = append(paths, `(?:[\w.@~-]+/)*`+regexp.QuoteMeta(dir)+`\b(?:/[\w.@~-]+)*`)
		} else if dir != "." { // a word of a sentence can have the same letters
			paths = append(paths, `(?:[\w.@~-]+/)+`+regexp.QuoteMeta(dir)+`\b(?:/[\w.@~-]+)*`,
				`\b`+regexp.QuoteMeta(dir)+`(?:/[\w.@~-]+)+`)
		}
		names = append(names, nameOf(path.Base(file)), nameOf(path.Base(dir)))
	}
	return own{anyOf("", paths), anyOf("(?i)", names)}
}

// nameOf is a pattern of the name of a file or a directory, as a path and an identifier have it: orderItem, order_item,
// OrderItem; "" for one that is too short to be found in a text, or no shard's own.
func nameOf(base string) string {
	stem := affixes.ReplaceAllLiteralString(strings.TrimSuffix(base, path.Ext(base)), "")
	if len(stem) < 3 || slices.Contains(common, strings.ToLower(strings.Trim(stem, "_"))) {
		return ""
	}
	return strings.Join(humps.FindAllString(stem, -1), `[-_. ]?`)
}

// anyOf matches one of the patterns, the longest first; nil for none.
func anyOf(flags string, patterns []string) *regexp.Regexp {
	patterns = slices.DeleteFunc(patterns, func(p string) bool { return p == "" })
	if len(patterns) == 0 {
		return nil
	}
	slices.SortFunc(patterns, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	return regexp.MustCompile(flags + strings.Join(slices.Compact(patterns), "|"))
}

func (o own) strip(text string) string {
	for _, re := range []*regexp.Regexp{o.paths, o.names} {
		if re != nil {
			text = re.ReplaceAllLiteralString(text, ownPart)
		}
	}
	return text
}
