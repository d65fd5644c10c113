package mutant

import (
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
)

// Fold is what tests ignore of a text that they compare.
type Fold string

// The folds.
const (
	Letters Fold = "letters" // whether they are capital
	Blanks  Fold = "blanks"  // how many there are between two words
)

var (
	foldsLetters = lazyregexp.New(`(?i)lower|upper|fold|ignore_?case|insensitive|swapcase|\(\?i|\bre\.i\b|/i[gmsu]*[\s,.;)]`)
	foldsBlanks  = lazyregexp.New(`(?i)\bfields\(|\.split\(\)|\\s[+*]|collapse|squash|squeeze|whitespace`)
)

// FoldOf is what files of tests ignore after a patch, by the names in them, and not before; "" for nothing known.
func FoldOf(before, after map[string][]byte) Fold {
	more := func(names *lazyregexp.Regexp) bool {
		gain := 0
		for file := range after {
			gain += len(names.FindAllIndex(after[file], -1)) - len(names.FindAllIndex(before[file], -1))
		}
		return gain > 0
	}
	switch {
	case more(foldsLetters):
		return Letters
	case more(foldsBlanks):
		return Blanks
	}
	return ""
}

// kept are the parts of a text that other code reads: verbs, names of values, escapes.
var kept = lazyregexp.New(`%[-+# 0-9.*\[\]]*[a-zA-Z]|\$?\{[^{}]*\}?|\\.`)

// Of is a text, or the source of one, that a test tells from the text unless it ignores the difference; "" for none.
func (f Fold) Of(text string) string {
	var b strings.Builder
	from := 0
	for _, at := range append(kept.FindAllStringIndex(text, -1), []int{len(text), len(text)}) {
		b.WriteString(f.change(text[from:at[0]]))
		b.WriteString(text[at[0]:at[1]])
		from = at[1]
	}
	if b.String() == text {
		return ""
	}
	return b.String()
}

func (f Fold) change(part string) string {
	switch f {
	case Letters:
		return strings.Map(func(r rune) rune {
			if unicode.IsUpper(r) {
				return unicode.ToLower(r)
			}
			return unicode.ToUpper(r)
		}, part)
	case Blanks:
		return strings.ReplaceAll(part, " ", "  ")
	}
	return part
}

// literal is a text in the source of an interpreted language.
var literal = lazyregexp.New("^[bfruBFRU]{0,2}(?:\"[^\"]*\"|'[^']*'|`[^`]*`)$")

// fold has a mutant of a text differ from it in what tests ignore.
func (c *Change) fold(f Fold, source []byte) {
	text := string(source[c.From:c.To])
	if other := f.Of(text); c.Kind == Constant && other != "" && literal.MatchString(text) {
		c.Alt, c.New = other, strings.Replace(c.Old, text, other, 1)
	}
}
