package memory

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"parseHTTPHeader":             "pars http header parsehttpheader",
		"ParseHTTPHeader":             "pars http header parsehttpheader",
		"parse_http_header":           "pars http header parsehttpheader",
		"parse-http-header":           "pars http header parsehttpheader",
		"PARSE__HTTP_HEADER":          "pars http header parsehttpheader",
		"http header":                 "http header",
		"utf8 HTTP2":                  "utf 8 utf8 http 2 http2",
		"UTF-8":                       "utf 8 utf8",
		"internal/git/run_test.go:12": "internal git run test runtest go 12",
		"--state-dir":                 "stat dir statedir",
		"the is OF":                   "",
		"isNot":                       "isnot",
		"Ärger ÄRGER a\u0308rger":     "ärger ärger ärger",
		"ＨＴＴＰ":                        "http",
		"STRASSE straße":              "strass strass",
		"ΣΊΣΥΦΟΣ σίσυφος":             "σίσυφοσ σίσυφοσ",
		"東京":                          "東 東京 京",
		"データ":                         "デ デー ー ータ タ",
		"use東京now":                    "use 東 東京 京",
		"headers header parsing parsed parses parse": "header header pars pars pars pars",
		"queries query retried class classes bus":    "query query retry class class bus",
		"mapping mapped calls calling string":        "map map call call string",
		"a, b; c.":                                   "b c",
		strings.Repeat("x", 65):                      "",
		"\x00\u200b*\"'()":                           "",
		"हिन्दी":                                     "हिन्दी",
	} {
		require.Equal(t, want, strings.TrimSpace(forIndex(text)), text)
	}
}

func TestAskedWordsAreDistinctAndBounded(t *testing.T) {
	t.Parallel()
	require.Equal(t, []string{"http", "header"}, asked("HTTP headers, http header", 10))
	require.Len(t, asked(strings.Repeat("x", 3)+" y z", 2), 2)
	require.Empty(t, asked("the of", 2))
}

// However an identifier is written, asking for it gives words that its text has.
func TestAskedWordsAreInTheIndex(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		have := strings.Fields(forIndex(text))
		for _, w := range asked(text, 1000) {
			require.Contains(t, have, w)
		}
		for _, w := range have {
			require.LessOrEqual(t, len(w), maxWord)
			require.True(t, utf8.ValidString(w))
			require.False(t, slices.ContainsFunc([]rune(w), func(r rune) bool { return !isWordRune(r) }), "%q", w)
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
		have := strings.Fields(forIndex("see " + string(runes) + " there"))
		part := asked(string(runes[i:j]), 1000)
		require.NotEmpty(t, part)
		for _, w := range part {
			require.Contains(t, have, w)
		}
	})
}

func FuzzWords(f *testing.F) {
	f.Add("parseHTTPHeader_v2-x é́ 東京 \xff")
	f.Fuzz(func(t *testing.T, text string) {
		eachWord(text, true, func(w string) { require.NotEmpty(t, w) })
		eachWord(text, false, func(w string) { require.NotContains(t, w, " ") })
	})
}
