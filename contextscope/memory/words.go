package memory

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// maxWord bounds a word in bytes: what is longer is a blob that nobody asks for.
const maxWord = 64

// stopWords are too common to say what a note is about.
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

// eachWord splits a text into the words by which notes are found, in order. Identifiers give their parts and themselves:
// parseHTTPHeader, parse_http_header and parse-http-header all give parse, http, header and parsehttpheader. Words are
// normalised (NFKC), folded and stemmed; stop words are left out. Scripts without spaces give single characters and pairs
// of them, so that any part of a text is found; when asking, a run of several gives its pairs only.
func eachWord(text string, asking bool, emit func(string)) {
	if !norm.NFKC.IsNormalString(text) {
		text = norm.NFKC.String(text)
	}
	for len(text) > 0 {
		start := strings.IndexFunc(text, isWordRune)
		if start < 0 {
			return
		}
		text = text[start:]
		text = text[identifier(text, asking, emit):]
	}
}

// joiners stand between the parts of an identifier.
var joiners = strings.NewReplacer("_", "", "-", "")

// identifier emits the words of the identifier that the text begins with, and returns its length.
func identifier(text string, asking bool, emit func(string)) int {
	end, parts, joined := 0, 0, true
	for {
		n := chunkEnd(text[end:])
		parts += chunk(text[end:end+n], asking, emit, &joined)
		end += n
		gap := len(text[end:]) - len(strings.TrimLeft(text[end:], "_-"))
		if gap == 0 || !startsWord(text[end+gap:]) {
			break
		}
		end += gap
	}
	if parts > 1 && joined && end <= 2*maxWord {
		whole := fold(joiners.Replace(text[:end]))
		if len(whole) <= maxWord {
			emit(stem(whole))
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

// chunk emits the parts of a run of letters and digits, and counts them. It clears joined when there is something in it that
// is not written like an identifier.
func chunk(text string, asking bool, emit func(string), joined *bool) int {
	parts, start := 0, 0
	flush := func(end int) {
		if start < end {
			part(text[start:end], emit)
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
			pairs(text[i:i+n], asking, emit)
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

func part(text string, emit func(string)) {
	w := fold(text)
	if len(w) <= maxWord && !stopWords[w] {
		emit(stem(w))
	}
}

// unspaced reports whether a letter belongs to a script that is written without spaces.
func unspaced(r rune) bool {
	const longVowel = 'ー'
	return r >= 0x0e00 && (r == longVowel || unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar))
}

// pairs emits the characters of a run, each with its marks, and each with the one after it.
func pairs(run string, asking bool, emit func(string)) {
	var starts []int
	for i, r := range run {
		if i == 0 || !unicode.IsMark(r) {
			starts = append(starts, i)
		}
	}
	starts = append(starts, len(run))
	for i := 0; i+1 < len(starts); i++ {
		if !asking || len(starts) == 2 {
			emit(run[starts[i]:starts[i+1]])
		}
		if i+2 < len(starts) {
			emit(run[starts[i]:starts[i+2]])
		}
	}
}

func fold(s string) string {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return cases.Fold().String(s)
		}
	}
	return strings.ToLower(s)
}

// stem cuts the commonest English endings, so that headers finds header and parsing finds parse. What it leaves is no word,
// but the same for all of them.
func stem(w string) string {
	if strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return w
	}
	w = singular(w)
	for _, ending := range []string{"ing", "ed"} {
		base, ok := strings.CutSuffix(w, ending)
		if !ok || len(base) < 3 || !strings.ContainsAny(base, "aeiouy") {
			continue
		}
		w = base
		if n := len(w); w[n-1] == w[n-2] && !strings.ContainsRune("lsz", rune(w[n-1])) {
			w = w[:n-1]
		}
		break
	}
	if len(w) > 3 {
		w = strings.TrimSuffix(w, "e")
	}
	return w
}

func singular(w string) string {
	switch n := len(w); {
	case n > 4 && (strings.HasSuffix(w, "ies") || strings.HasSuffix(w, "ied")):
		return w[:n-3] + "y"
	case n < 3 || w[n-1] != 's' || strings.ContainsRune("sui", rune(w[n-2])):
		return w
	default:
		return w[:n-1]
	}
}

// asked returns the distinct words of a query, in order, at most so many.
func asked(query string, most int) []string {
	var words []string
	seen := map[string]bool{}
	eachWord(query, true, func(w string) {
		if !seen[w] && len(words) < most {
			seen[w] = true
			words = append(words, w)
		}
	})
	return words
}

// forIndex is a text as the index stores it: its words with single spaces between.
func forIndex(texts ...string) string {
	var b strings.Builder
	for _, text := range texts {
		eachWord(text, false, func(w string) {
			b.WriteString(w)
			b.WriteByte(' ')
		})
	}
	return b.String()
}
