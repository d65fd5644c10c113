package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// changing are words of a brief that asks for another behaviour of what is there.
var changing = lazyregexp.New(`(?i)\b(?:must|should|no longer|instead|rather than|not only|chang\w*|adapt|allow|as soon as|` +
	`becomes?|(?:update|adjust) the \w*tests?|updat\w+|from now on)\b`)

// Named reports whether the brief asks for what a test expects now and did not before. It has all values in which the test
// differs, a quoted one of them, or all words of a new line. Or it asks for another behaviour, and names the test, a changed
// function of the product, a value that the patch changes in both alike, or a new name that the test uses.
func (t *Touched) Named(name string) bool {
	was, now := t.texts(name)
	name, _, _ = strings.Cut(name, "/")
	words := text.Set(strings.ToLower(strings.Join(text.Words(t.Brief), " ")))
	names := text.Set(strings.Join(strings.FieldsFunc(t.Brief, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}), " "))
	less, more := values(was, now)
	differ := slices.Concat(less, more)
	unnamed := func(value string) bool { return !names[value] && (len(value) < 3 || !strings.Contains(t.Brief, value)) }
	quoted := func(value string) bool {
		return value != "" && slices.ContainsFunc([]string{`"`, "'", "`"}, func(q string) bool {
			return strings.Contains(t.Brief, q+value+q)
		})
	}
	lost, gained := lineDiff(was, now)
	if len(differ) > 0 && !slices.ContainsFunc(differ, unnamed) || slices.ContainsFunc(differ, quoted) ||
		len(lost) == 0 && saidIn(words, gained) {
		return true
	}
	if !changing.MatchString(t.Brief) {
		return false
	}
	come := newValues(t.Product, t.Since)
	own := namesIn(strings.Join(gained, "\n"))
	return names[name] || slices.ContainsFunc(changedIn(t.Product, t.Since), func(f string) bool { return names[f] }) ||
		slices.ContainsFunc(more, func(v string) bool { return come[v] && inUnits(v, names) }) ||
		slices.ContainsFunc(own, func(n string) bool { return names[n] && !uses(t.Product, n) && uses(t.Since, n) })
}

// inUnits reports whether a value is among words, or a number with zeros behind one of them: 5000 ms of 5 s.
func inUnits(value string, words map[string]bool) bool {
	for word := value; word != ""; word = word[:len(word)-1] {
		if words[word] {
			return true
		}
		if !strings.HasSuffix(word, "0") {
			break
		}
	}
	return false
}

// newValues are the constants that came into files.
func newValues(before, since map[string][]byte) map[string]bool {
	come := map[string]bool{}
	for file, source := range since {
		lost, gained := lineDiff(string(before[file]), string(source))
		_, more := values(strings.Join(lost, "\n"), strings.Join(gained, "\n"))
		for _, v := range more {
			come[v] = true
		}
	}
	return come
}

// saidIn reports whether one of some lines has only names that are made of words, and at least two words.
func saidIn(words map[string]bool, lines []string) bool {
	return slices.ContainsFunc(lines, func(line string) bool {
		said := text.Words(strings.Join(namesIn(line), " "))
		said = slices.DeleteFunc(said, func(w string) bool { return w == "true" || w == "false" })
		return len(said) > 1 && !slices.ContainsFunc(said, func(w string) bool { return !words[strings.ToLower(w)] })
	})
}

func uses(files map[string][]byte, name string) bool {
	for _, source := range files {
		if slices.Contains(namesIn(string(source)), name) {
			return true
		}
	}
	return false
}

// changedIn are the functions that both versions of the product have, with another text.
func changedIn(before, since map[string][]byte) (names []string) {
	was, now := functions(before), functions(since)
	for name, source := range was {
		if other := now[name]; other != "" && other != source {
			names = append(names, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	return names
}

// functions are the forms of all functions of files that can be read, by their names with the receiver.
func functions(files map[string][]byte) map[string]string {
	forms := map[string]string{}
	for file, source := range files {
		if path.Ext(file) != ".go" {
			parts(forms, string(source))
			continue
		}
		set := token.NewFileSet()
		parsed, err := parser.ParseFile(set, file, source, parser.SkipObjectResolution)
		if err != nil {
			continue
		}
		for _, d := range parsed.Decls {
			if fun, ok := d.(*ast.FuncDecl); ok {
				from, to := set.PositionFor(fun.Pos(), false).Offset, set.PositionFor(fun.End(), false).Offset
				forms[goName(fun)] = formOf(string(source[from:to]), true)
			}
		}
	}
	return forms
}

// opens is a line of Python or JavaScript that gives a function or a class its name.
var opens = lazyregexp.New(`^\s*(?:export\s+|default\s+|async\s+|static\s+|get\s+|set\s+)*` +
	`(?:(?:def|class|function\*?)\s+(\w+)|(?:const|let|var)\s+(\w+)\s*=.*(?:=>|function)|#?(\w+)\s*\([^()]*\)\s*\{\s*$)`)

// parts adds the forms of functions and classes of a file in another language than Go: each ends where the next one begins.
func parts(forms map[string]string, source string) {
	name := ""
	for line := range strings.Lines(source) {
		if m := opens.FindStringSubmatch(line); m != nil {
			if found := m[1] + m[2] + m[3]; !slices.Contains(branches, found) {
				name = found
			}
		}
		forms[name] += line
	}
}

// branches are words that stand before a block and name no function.
var branches = []string{"if", "for", "while", "switch", "catch", "with", "function", "return"}
