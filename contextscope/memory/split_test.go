package memory

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// forIndex is a text's terms, line by line.
func forIndex(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		eachTerm(line, func(term string) { b.WriteString(term + " ") })
		b.WriteByte('\n')
	}
	return b.String()
}

func TestTerms(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"parseHTTPHeader":             "parse http header parsehttpheader",
		"ParseHTTPHeader":             "parse http header parsehttpheader",
		"parse_http_header":           "parse http header parsehttpheader",
		"parse-http-header":           "parse http header parsehttpheader",
		"PARSE__HTTP_HEADER":          "parse http header parsehttpheader",
		"http header":                 "http header",
		"utf8 HTTP2":                  "utf 8 utf8 http 2 http2",
		"UTF-8":                       "utf 8 utf8",
		"internal/git/run_test.go:12": "internal git run test runtest go 12",
		"--state-dir":                 "state dir statedir",
		"the is OF":                   "",
		"isNot":                       "isnot",
		"Ärger ÄRGER a\u0308rger":     "ärger ärger ärger",
		"ＨＴＴＰ":                        "http",
		"東京":                          "東 京",
		"データ":                         "デ ー タ",
		"use東京now":                    "use 東 京",
		"a, b; c.":                    "b c",
		strings.Repeat("x", 65):       "",
		"\x00\u200b*\"'()":            "",
		"हिन्दी":                      "हिन्दी",
	} {
		require.Equal(t, want, strings.TrimSpace(forIndex(text)), text)
	}
	require.Equal(t, "b \n\nc d cd \n", forIndex("a b\n\nc_d"), "lines stay lines")
}

// What folding and stemming make of a word is the same in a note and in a query.
func TestWordsAreFoundInTheirForms(t *testing.T) {
	t.Parallel()
	for note, query := range map[string]string{
		"headers": "header", "Parsing": "parsed", "queries": "query", "retried": "retry", "classes": "CLASS",
		"mapping": "mapped", "ärger": "ÄRGER", "ΣΊΣΥΦΟΣ": "σίσυφος", "हिन्दी": "हिन्दी", "ＨＴＴＰ": "http",
		"arger": "Ärger", "ガラス": "ガラ", "straße": "STRASSE straße",
	} {
		m := newPlace(t, map[string]string{"a.md": note, "b.md": "other"}).open()
		require.Equal(t, []string{"a"}, found(t, m, query), note)
	}
}

func TestAskedWordsAreDistinctAndBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"http", "headers", "header"}, asked("HTTP headers, http header", 10))
	require.Len(t, asked(strings.Repeat("x", 3)+" y z", 2), 2)
	require.Empty(t, asked("the of", 2))
}

// However an identifier is written, asking for it gives terms that its text has.
func TestAskedTermsAreInTheIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		have := " " + strings.Join(strings.Fields(forIndex(text)), " ") + " "
		for _, term := range asked(text, 1000) {
			require.Contains(t, have, " "+term+" ")
			require.True(t, utf8.ValidString(term))
			require.False(t, strings.ContainsFunc(term, func(r rune) bool { return r != ' ' && !isWordRune(r) }), "%q", term)
		}
	})
}

// Any part of a text in a script without spaces is found.
func TestPartsOfUnspacedTextAreFound(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		runes := rapid.SliceOfN(rapid.RuneFrom([]rune("東京都港区赤坂のデータベースー한국어")), 2, 20).Draw(t, "text")
		i := rapid.IntRange(0, len(runes)-1).Draw(t, "from")
		j := rapid.IntRange(i+1, len(runes)).Draw(t, "to")
		part := asked(string(runes[i:j]), 1000)
		require.Len(t, part, 1)
		require.Contains(t, forIndex("see "+string(runes)+" there"), part[0])
	})
}

func FuzzSplit(f *testing.F) {
	f.Add("parseHTTPHeader_v2-x é́ 東京 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		eachTerm(text, func(term string) {
			require.NotEmpty(t, strings.TrimSpace(term))
			require.NotEmpty(t, keys(term))
		})
	})
}
