package acceptance

import (
	"path"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/text"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/acceptance/testsource/gosource"
	"divisi/subagents/gate/testnames"
)

// maxSearched bounds the text in which the titles of missing tests are looked up, in bytes: with more of both the rest is not
// explained.
const maxSearched = 8 << 30

// source is a changed file with the lines that it loses and gains, also those that another file gains or loses.
type source struct {
	Change

	lost, gained string
	// renames is set where it holds as many tests as before: names that it loses are those of other tests.
	renames bool
}

// gone reports whether the patch deletes the file.
func (f *source) gone() bool { return f.Before != nil && f.After == nil && f.Unread == "" }

// sources tell which tests a patch removes or renames.
type sources struct {
	files []source
	// fewer are the words that a file has less often than before, by whether it renames; of Go code those before a parenthesis: a
	// function.
	fewer map[bool]map[string]bool
	// modules are the names that a go.mod does not have any more.
	modules []string
	left    int
}

var (
	goModule   = re(`(?m)^module\s+(\S+)`)
	identifier = re(`^[\pL_][\pL\pN_]*$`)
	// varied is a name without a number that was in it.
	varied = re(`(?:^|\W)[NXT](?:\W|$)`)
)

func newSources(changes []Change) *sources {
	s := &sources{fewer: map[bool]map[string]bool{false: {}, true: {}}, left: maxSearched}
	for _, c := range changes {
		f := source{Change: c}
		if !text.Binary(c.Before) && !text.Binary(c.After) {
			lost, gained := (&file{Change: c}).compare()
			f.lost, f.gained = textOf(lost), textOf(gained)
			n := testsOf(c.Path, c.After)
			f.renames = n > 0 && n >= testsOf(c.Path, c.Before)
		}
		s.files = append(s.files, f)
		count := map[string]int{}
		words(c.Path, f.lost, func(w string) { count[w]++ })
		words(c.Path, f.gained, func(w string) { count[w]-- })
		for w, n := range count {
			if n > 0 {
				s.fewer[f.renames][w] = true
			}
		}
		if m := goModule.FindStringSubmatch(f.lost); m != nil && path.Base(c.Path) == "go.mod" {
			s.modules = append(s.modules, m[1])
		}
	}
	return s
}

// testsOf is the number of tests in a file.
func testsOf(name string, content []byte) (n int) {
	i, of, read := testsource.LanguageOf(name), []testsource.File{{Path: name, Content: content}}, gosource.Read
	if i < 0 || len(content) > maxTests {
		return 0
	}
	if i != testsource.Go {
		read = func(files []testsource.File) []testsource.Unit { return testsource.Read(i, files) }
	}
	for _, u := range read(of) {
		n += u.Counts[testsource.Tests]
	}
	return n
}

// brings reports whether a test is in what the patch adds, by its name, its class, or a title.
func (s *sources) brings(tests testnames.List) bool {
	return slices.ContainsFunc(tests, func(t testnames.Test) bool {
		name, class := t.Parent(), t.Group[strings.LastIndexAny(t.Group, "./")+1:]
		name = name[strings.LastIndexByte(name, ':')+1:]
		return strings.Contains(name, " ") || slices.ContainsFunc(s.files, func(f source) bool {
			return strings.Contains(f.gained, name) || class != "" && strings.Contains(f.gained, class)
		})
	})
}

func textOf(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(l.text + "\n")
	}
	return b.String()
}

// words visits the words of a text; those of Go code only where a parenthesis follows.
func words(name, of string, visit func(string)) {
	code := path.Ext(name) == ".go"
	for of != "" {
		begin := strings.IndexFunc(of, inWord)
		if begin < 0 {
			return
		}
		of = of[begin:]
		end := strings.IndexFunc(of, func(r rune) bool { return !inWord(r) })
		if end < 0 {
			end = len(of)
		}
		if rest := of[end:]; !code || strings.HasPrefix(rest, "(") {
			visit(of[:end])
		}
		of = of[end:]
	}
}

func inWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// explains reports whether the patch removes or renames a test: a file has its name less often than before, or its file is gone.
// A new name explains it where a test that the patch brings came and ran. Of a case, which a table may name, it is enough that a
// file changes which has its test, unless that is gone with all cases.
func (s *sources) explains(t testnames.Test, gone, came bool) bool {
	for _, f := range s.files {
		if f.gone() && (f.Path == t.Group || t.Name == wholePackage && testsource.IsTest(f.Path) && near(t.Group, f.Path)) {
			return true
		}
	}
	if slices.ContainsFunc(s.modules, func(m string) bool { return t.Group == m || strings.HasPrefix(t.Group, m+"/") }) {
		return true
	}
	class, parent := t.Group[strings.LastIndexAny(t.Group, "./")+1:], t.Parent()
	if identifier.MatchString(class) && s.loses("class "+class, came) {
		return true
	}
	names := func(name string) bool { return s.names(name, came) }
	if !gone && parent != t.Name || varied.MatchString(t.Name) {
		return s.changes(t.Group, parent) || names(t.Name[strings.LastIndexAny(t.Name, "/")+1:])
	}
	return slices.ContainsFunc(strings.Split(parent, " > "), names)
}

// wholePackage is the name of all tests of a Go package, where the output does not name them.
const wholePackage = "ok"

// changes reports whether the patch changes the file of a test with cases.
func (s *sources) changes(group, test string) bool {
	return slices.ContainsFunc(s.files, func(f source) bool {
		switch {
		case !testsource.IsTest(f.Path), path.Ext(f.Path) == ".go" && !near(group, f.Path):
			return false
		case testsource.IsTest(group):
			return f.Path == group
		}
		return !identifier.MatchString(test) || strings.Contains(string(f.Before), test)
	})
}

// names reports whether a file has a test's name less often: as a word, or, of a title, quoted, with or without the titles around
// it. Go names subtests with _ for a blank.
func (s *sources) names(name string, came bool) bool {
	if at := strings.LastIndex(name, "::"); at >= 0 {
		name = name[at+2:]
	}
	if identifier.MatchString(name) && (s.fewer[false][name] || came && s.fewer[true][name]) {
		return true
	}
	for _, title := range []string{name, strings.ReplaceAll(name, "_", " ")} {
		for at, r := range title + " " {
			if r != ' ' {
				continue
			}
			if s.loses(title[:at], came) || at > 0 && at < len(title) && s.loses(title[at+1:], came) {
				return true
			}
		}
	}
	stem := func(p string) string { return strings.TrimSuffix(path.Base(p), path.Ext(p)) }
	return slices.ContainsFunc(s.files, func(f source) bool {
		return f.gone() && name != "" && (path.Base(f.Path) == name || stem(f.Path) == name)
	})
}

// loses reports whether a file has a text in quotes, or the head of a class, less often.
func (s *sources) loses(what string, came bool) bool {
	count := func(in string) (n int) {
		if strings.HasPrefix(what, "class ") {
			n = strings.Count(in, what)
		}
		for _, quote := range []string{`"`, "'", "`"} {
			n += strings.Count(in, quote+what+quote)
		}
		return n
	}
	return slices.ContainsFunc(s.files, func(f source) bool {
		s.left -= len(f.lost)
		return s.left > 0 && what != "" && f.lost != "" && (came || !f.renames) && count(f.lost) > count(f.gained)
	})
}
