package mutant

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
)

// changing are words of a brief that asks for another behaviour of what is there, keeping those of one that asks for the same
// behaviour in another form. firmly are those that count in both.
var (
	changing = lazyregexp.New(`(?i)\b(?:must|should|not only|chang\w*|adapt|allow\w*|as soon as|becomes?|updat\w+|adjust\w*|` +
		`rais\w+|lower\w*|increas\w+|reduc\w+|support\w*|round\w*|return\w*|reject\w*|accept\w*|ignor\w*|add|fix\w*|` +
		`now)\b|` + firm)
	keeping = lazyregexp.New(`(?i)\b(?:refactor\w*|simplif\w*|tid(?:y|ied)|clean\w*|readab\w*|renam\w*|extract\w*|inline|` +
		`restructur\w*|reorgani[sz]e|speed|faster|optimi[sz]e|cache|` +
		`(?:same|without changing|keep the) (?:behaviou?r|results?))\b`)
	firmly = lazyregexp.New(`(?i)` + firm)
)

const firm = `\b(?:no longer|instead|rather than|from now on)\b`

// Named reports whether the brief asks for what a test expects now and did not before. It has all values in which the test
// differs, or what they are moved by, or a quoted one of them. Or it asks for another behaviour, and names what the patch
// changes in the code and in the test alike, or the test. Or the test only has more lines, and the brief a word of them; or no
// value differs, and a function that the test calls has other parameters or results.
func (t *Touched) Named(name string) bool {
	was, now := t.texts(name)
	name, _, _ = strings.Cut(name, "/")
	less, more := values(was, now)
	differ := slices.Concat(less, more)
	brief := inBrief(t.Brief)
	unnamed := func(value string) bool { return !brief[value] && (len(value) < 3 || !strings.Contains(t.Brief, value)) }
	quoted := func(value string) bool {
		return value != "" && slices.ContainsFunc([]string{`"`, "'", "`"}, func(q string) bool {
			return strings.Contains(t.Brief, q+value+q)
		})
	}
	switch {
	case len(differ) == 0 && t.adapted(now):
		return true
	case len(differ) > 0 && (!slices.ContainsFunc(differ, unnamed) || moved(brief, less, more)) ||
		slices.ContainsFunc(differ, quoted):
		return true
	}
	lost, gained := lineDiff(was, now)
	test, code := topics(append(slices.Concat(lost, gained, differ), name)...), topics(t.changed()...)
	switch {
	case len(lost) == 0:
		code = test // no expectation is gone
	case !changing.MatchString(t.Brief) || keeping.MatchString(t.Brief) && !firmly.MatchString(t.Brief):
		return false
	case brief[name]:
		return true
	}
	for topic := range code {
		if test[topic] && inUnits(topic, brief) {
			return true
		}
	}
	return false
}

// changed are the lines of the product that the patch removes or adds, and the names of the functions that it changes.
func (t *Touched) changed() (lines []string) {
	for file, since := range t.Since {
		lost, gained := lineDiff(string(t.Product[file]), string(since))
		lines = append(append(lines, lost...), gained...)
	}
	return append(lines, changedIn(functions(t.Product, false), functions(t.Since, false))...)
}

// adapted reports whether a test uses a function that has other parameters or results than before.
func (t *Touched) adapted(test string) bool {
	names := namesIn(test)
	return slices.ContainsFunc(changedIn(functions(t.Product, true), functions(t.Since, true)), func(name string) bool {
		return slices.Contains(names, name)
	})
}

// common are words that tests and code share whatever they are about.
var common = text.Set(`a an and are as assert be bool by case class const def default else end equal err error expect expected
	false fatal for from func function get go got have if import in int is it item key len let list make map must name new nil
	none not null number object of on one only or result return self set should string struct test the then this to true type
	use value var want when with`)

// topics are the words of texts that say what they are about, and their numbers.
func topics(texts ...string) map[string]bool {
	topics := map[string]bool{}
	for _, w := range text.Words(strings.Join(texts, "\n")) {
		if w = stem(w); !common[w] && (len(w) > 2 || unicode.IsDigit(rune(w[0]))) {
			topics[w] = true
		}
	}
	return topics
}

// stem is a word without the end of a plural.
func stem(w string) string {
	if len(w) > 3 && !strings.HasSuffix(w, "ss") {
		w = strings.TrimSuffix(w, "s")
	}
	return w
}

// inBrief are the words of a brief, and its numbers in digits.
func inBrief(brief string) map[string]bool {
	words := topics(brief)
	none := func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' }
	for _, w := range strings.FieldsFunc(brief, none) {
		words[w] = true
		if n := slices.Index(numerals, strings.ToLower(w)); n >= 0 {
			words[strconv.Itoa(n)] = true
		}
	}
	return words
}

var numerals = strings.Fields("zero one two three four five six seven eight nine ten eleven twelve")

// moved reports whether all values that are lost became others by the distance of two numbers of the brief, such as a value
// beside a limit does that is raised.
func moved(brief map[string]bool, lost, gained []string) bool {
	var numbers []int
	for w := range brief {
		if n, err := strconv.Atoi(w); err == nil {
			numbers = append(numbers, n)
		}
	}
	for _, from := range numbers {
		for _, to := range numbers {
			by := func(value string) bool {
				n, err := strconv.Atoi(value)
				return err == nil && slices.Contains(gained, strconv.Itoa(n+to-from))
			}
			if from != to && len(lost) == len(gained) && !slices.ContainsFunc(lost, func(v string) bool { return !by(v) }) {
				return true
			}
		}
	}
	return false
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

// changedIn are the names of functions that both versions of the product have, with another form.
func changedIn(was, now map[string]string) (names []string) {
	for name, source := range was {
		if other := now[name]; other != "" && other != source {
			names = append(names, name[strings.LastIndexByte(name, '.')+1:])
		}
	}
	return names
}

// functions are the forms of all functions of files that can be read, by their names with the receiver: of their parameters and
// results alone where they are asked for.
func functions(files map[string][]byte, heads bool) map[string]string {
	forms := map[string]string{}
	for file, source := range files {
		if path.Ext(file) != ".go" {
			parts(forms, string(source), heads)
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
				if heads {
					from, to = set.PositionFor(fun.Type.Pos(), false).Offset, set.PositionFor(fun.Type.End(), false).Offset
				}
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
func parts(forms map[string]string, source string, heads bool) {
	name := ""
	for line := range strings.Lines(source) {
		if m := opens.FindStringSubmatch(line); m != nil {
			if found := m[1] + m[2] + m[3]; !slices.Contains(branches, found) {
				name = found
			}
		} else if heads {
			continue
		}
		forms[name] += line
	}
}

// branches are words that stand before a block and name no function.
var branches = []string{"if", "for", "while", "switch", "catch", "with", "function", "return"}
