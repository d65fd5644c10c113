package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// maxTerm bounds a term in bytes: what is longer is a blob that no query asks for.
const maxTerm = 64

// stopWords are too common to report what a note is about.
var stopWords = setOf(`a about after all also an and any are as at be been before but by can could did do does for from
	had has have how i if in into is it its just like more most no nor not now of on only or other our out over should so
	some such than that the their them then there these they this those to too under up was we were what when where which
	while who why will with would you your`)

func setOf(words string) map[string]bool {
	set := map[string]bool{}
	for w := range strings.FieldsSeq(words) {
		set[w] = true
	}
	return set
}

// eachTerm splits a text into the terms by which notes are found, in order. Identifiers give their parts and themselves:
// parseHTTPHeader, parse_http_header and parse-http-header all give parse, http, header and parsehttpheader. A run of a script
// without spaces is one term, its characters with spaces between. Stop words are left out.
func eachTerm(text string, emit func(term string)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for len(text) > 0 {
		start := strings.IndexFunc(text, isWordRune)
		if start < 0 {
			return
		}
		text = text[start:]
		text = text[identifier(text, emit):]
	}
}

// joiners stand between the parts of an identifier.
var joiners = strings.NewReplacer("_", "", "-", "")

// identifier emits the terms of the identifier that the text begins with, and returns its length.
func identifier(text string, emit func(string)) int {
	end, parts, joined := 0, 0, true
	for {
		n := chunkEnd(text[end:])
		parts += chunk(text[end:end+n], emit, &joined)
		end += n
		gap := len(text[end:]) - len(strings.TrimLeft(text[end:], "_-"))
		if gap == 0 || !startsWord(text[end+gap:]) {
			break
		}
		end += gap
	}
	if parts > 1 && joined && end <= 2*maxTerm {
		if whole := strings.ToLower(joiners.Replace(text[:end])); len(whole) <= maxTerm {
			emit(whole)
		}
	}
	return end
}

func startsWord(text string) bool {
	r, _ := utf8.DecodeRuneInString(text)
	return text != "" && isWordRune(r)
}

func chunkEnd(text string) int {
	if n := strings.IndexFunc(text, func(r rune) bool { return !isWordRune(r) }); n >= 0 {
		return n
	}
	return len(text)
}

func isWordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
	}
	return unicode.In(r, unicode.L, unicode.M, unicode.N)
}

// chunk emits the parts of a run of letters and digits, and counts them. It clears joined when the run holds text that is not
// written like an identifier.
func chunk(text string, emit func(string), joined *bool) int {
	parts, start := 0, 0
	flush := func(end int) {
		if w := strings.ToLower(text[start:end]); w != "" {
			if len(w) <= maxTerm && !stopWords[w] {
				emit(w)
			}
			parts++
		}
		start = end
	}
	var before, last rune // the two letters before this one
	lastAt := 0
	for i, r := range text {
		switch {
		case i < start:
			continue
		case unspaced(r):
			flush(i)
			n := strings.IndexFunc(text[i:], func(r rune) bool { return !unspaced(r) && !unicode.IsMark(r) })
			if n < 0 {
				n = len(text) - i
			}
			emit(spaced(text[i : i+n]))
			*joined = false
			start, before, last = i+n, 0, 0
			continue
		case unicode.IsMark(r):
			continue
		case last != 0 && unicode.IsLower(r) && unicode.IsUpper(last) && unicode.IsUpper(before):
			flush(lastAt)
		case last != 0 && (unicode.IsUpper(r) && !unicode.IsUpper(last) || unicode.IsNumber(r) != unicode.IsNumber(last)):
			flush(i)
		}
		before, last, lastAt = last, r, i
	}
	flush(len(text))
	return parts
}

// unspaced reports whether a letter belongs to a script that is written without spaces.
func unspaced(r rune) bool {
	const longVowel = 'ー'
	return r >= 0x0e00 && (r == longVowel || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// spaced puts a space between the characters of a run, each with its marks.
func spaced(run string) string {
	var b strings.Builder
	for i, r := range run {
		if i > 0 && !unicode.IsMark(r) {
			b.WriteByte(' ')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// asked returns the distinct terms of a query, in order, at most so many.
func asked(query string, most int) []string {
	var terms []string
	seen := map[string]bool{}
	eachTerm(query, func(term string) {
		if !seen[term] && len(terms) < most {
			seen[term] = true
			terms = append(terms, term)
		}
	})
	return terms
}
