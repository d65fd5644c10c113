package text

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
)

func TestBounds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ got, want string }{
		{Short("käse", 4), "käse"},
		{Short("käsebrot", 4), "käs…"},
		{Runes("käse", 2), "kä"},
		{Runes("kä", 5), "kä"},
		{Runes("kä", 0), ""},
		{Head("käse", 2), "k"},
		{Head("käse", 3), "kä"},
		{Head("käse", 9), "käse"},
		{Head("käse", -1), ""},
		{End("käse", 3), "se"},
		{End("käse", 4), "äse"},
		{End("käse", 9), "käse"},
		{End("käse", -1), ""},
		{Ends("käsebrot", 9), "käsebrot"},
		{Ends("käsebrot", 5), "k\n[5 bytes are left out here]\nrot"},
		{HeadLines("a\nbc", 3), "a\n"},
		{HeadLines("a\nb\nc", 4), "a\nb\n"},
		{HeadLines("a\nbc", 4), "a\nbc"},
		{HeadLines("abc", 2), "ab"},
		{Cut("käse", 4), "käse"},
		{Cut("käse", 3), "käs… [1 more characters]"},
		{Valid("a\xffb"), "a\uFFFDb"},
		{Tail("käse", 3), "…se"},
		{Tail("käse", 4), "…äse"},
		{Tail("käse", 9), "käse"},
		{OneLine(" a\n\tb\x1b[31m\u200bc\xff "), "a b [31m c\uFFFD"},
		{Count(1, "file"), "1 file"},
		{Count(0, "file"), "0 files"},
		{Count(2, "batch"), "2 batches"},
		{Some([]string{"a", "b"}, 2), "a, b"},
		{Some([]string{"a", "b", "c"}, 2), "a, b and 1 more"},
	} {
		require.Equal(t, c.want, c.got)
	}
}

func TestFew(t *testing.T) {
	t.Parallel()
	list := []string{"a", "b", "c"}
	require.Equal(t, list, Few(list, 3))
	require.Equal(t, []string{"a", "and 2 more"}, Few(list, 1))
	require.Equal(t, []string{"a", "b", "c"}, list, "it is not changed")
}

func TestHidden(t *testing.T) {
	t.Parallel()
	for r, want := range map[rune]bool{
		'a': false, ' ': false, 'ä': false, '\t': true, '\x1b': true, '\u200b': true, '\u202e': true, '\ufe0f': true, '\ue000': true,
	} {
		require.Equal(t, want, Hidden(r), "%U", r)
	}
}

// Who reads the JSON finds the same, and a terminal obeys nothing of it.
func TestJSON(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"a":"ä 界 😀"}`: `{"a":"ä 界 😀"}`,

		"\"\u009b31m\u202e\u2066\u007f\U000e0001\"": `"\u009b31m\u202e\u2066\u007f\udb40\udc01"`,

		"\"a\xffb\"": `"a\ufffdb"`,
	} {
		out := JSON([]byte(in))
		require.Equal(t, want, string(out))
		var before, after any
		require.NoError(t, json.Unmarshal([]byte(in), &before))
		require.NoError(t, json.Unmarshal(out, &after))
		require.Equal(t, before, after)
	}
}

func FuzzJSON(f *testing.F) {
	f.Add("\u009b\u202e")
	f.Fuzz(func(t *testing.T, in string) {
		data, err := json.Marshal(in)
		require.NoError(t, err)
		out := JSON(data)
		require.False(t, bytes.ContainsFunc(out, func(r rune) bool { return r < 0x20 || Hidden(r) }), "%q", out)
		var before, after string
		require.NoError(t, json.Unmarshal(data, &before))
		require.NoError(t, json.Unmarshal(out, &after))
		require.Equal(t, before, after)
	})
}

func TestLines(t *testing.T) {
	t.Parallel()
	require.Nil(t, Lines(""))
	require.Equal(t, []string{"a", "", "b"}, Lines("a\r\n\nb\n"))
	require.Equal(t, []string{"a", ""}, Lines("a\n\n"))
	require.True(t, Binary([]byte("a\x00")))
	require.False(t, Binary([]byte("a")))
	require.False(t, Binary(append(bytes.Repeat([]byte("a"), 8000), 0)), "only the beginning counts")
}

func FuzzBounds(f *testing.F) {
	f.Add("käse\xff", 3)
	f.Fuzz(func(t *testing.T, s string, most int) {
		most = max(0, min(most, len(s)+2))
		require.LessOrEqual(t, len(Head(s, most)), most)
		require.LessOrEqual(t, len(End(s, most)), most)
		require.True(t, strings.HasPrefix(Head(s, most), HeadLines(s, most)))
		require.True(t, strings.HasSuffix(s, End(s, most)))
		require.LessOrEqual(t, utf8.RuneCountInString(Runes(s, most)), most)
		if most > 0 {
			require.LessOrEqual(t, utf8.RuneCountInString(Short(s, most)), most)
		}
	})
}
