package display

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"
)

func TestSanitize(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"clean":            {"internal/auth: 3 edits", "internal/auth: 3 edits"},
		"other scripts":    {"größer 日本語 ✓", "größer 日本語 ✓"},
		"colour":           {"\x1b[31;1mred\x1b[0m text", "red text"},
		"title":            {"a\x1b]0;owned\x07b", "ab"},
		"link":             {"\x1b]8;;http://x\x1b\\here\x1b]8;;\x1b\\", "here"},
		"device control":   {"a\x1bPq#0\x1b\\b", "ab"},
		"eight bit":        {"a\u009b31mb\u009d0;t\u009cc", "abc"},
		"charset":          {"\x1b(Bx\x1bcy", "xy"},
		"open string":      {"\x1b]0;never closed", "0;never closed"},
		"open sequence":    {"x\x1b[", "x"},
		"newlines":         {" one\r\n\ttwo  three \n", "one two three"},
		"backspace":        {"pass\b\b\b\bfail", "passfail"},
		"right to left":    {"a\u202egnp.exe", "agnp.exe"},
		"zero width":       {"a\u200bb\u200dc\ufe0f", "abc"},
		"broken":           {"a\xffb", "a\ufffdb"},
		"split escape":     {"\x1b\x1b[31m[31mx", "[31mx"},
		"nested":           {"\x1b[\x1b[31mx", "x"},
		"private use":      {"a\ue000b", "ab"},
		"empty":            {"", ""},
		"only white space": {" \t\n", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c[1], Sanitize(c[0]))
		})
	}
}

func FuzzSanitize(f *testing.F) {
	for _, s := range []string{"plain", "\x1b[31mred\x1b[0m", "\x1b]0;t\x07", "a\u202eb", "\xc2", "\x1b", " a  b ", "\u009b1m"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Sanitize(s)
		require.True(t, utf8.ValidString(out))
		require.Equal(t, out, Sanitize(out), "it is stable")
		require.Equal(t, strings.Join(strings.Fields(out), " "), out)
		for _, r := range out {
			require.True(t, unicode.IsPrint(r), "%U", r)
			require.False(t, unicode.Is(unicode.Bidi_Control, r), "%U", r)
		}
	})
}

// FuzzFit holds that cut text is as wide as it was cut to.
func FuzzFit(f *testing.F) {
	f.Add("größer 日本語 ✓ text", 7)
	f.Add("abc", 0)
	f.Fuzz(func(t *testing.T, s string, width int) {
		width %= 200
		s = Safe(s)
		require.LessOrEqual(t, lipgloss.Width(Fit(s, width)), max(width, 0))
		if width > 0 {
			require.Equal(t, width, lipgloss.Width(Pad(s, width)))
		}
		for _, l := range Wrap(s, max(width, 2)) {
			require.LessOrEqual(t, lipgloss.Width(l), max(width, 2))
		}
	})
}

func TestATabIsOneSpaceOfAnError(t *testing.T) {
	t.Parallel()
	require.Equal(t, "> 2 | x\n    ^ \uFFFD[31m", Visible(">\t2 | x\n    ^ \x1b[31m"))
}
