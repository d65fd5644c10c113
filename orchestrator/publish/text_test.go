package publish

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Foreign text steers no CI, mentions no account, closes no issue, and does not end its block.
func TestForeignTextIsQuiet(t *testing.T) {
	t.Parallel()
	for foreign, want := range map[string]string{
		"Rename all [skip ci]\nmore":               "Rename all more",
		"a [ci  skip] b [skip [skip ci] ci]":       "a b",
		"***NO_CI*** x":                            "x",
		"Use @ann, fixes #12 and closes GH-7":      "Use @\u200bann, fixes #\u200b12 and closes GH-\u200b7",
		"resolves https://github.com/o/r/issues/1": "resolves https:/\u200b/github.com/o/r/issues/1",
		"a[0] = b[1]":                              "a[0] = b[1]",
	} {
		require.Equal(t, want, Title(foreign))
	}
	require.True(t, SkipsCI("x\n\n[no ci]"))
	require.Equal(t, "``` a``b ```", Code("a``b"))
	require.Equal(t, "````diff\n+```\n+# free\n````\n", Fenced("diff", "+```\n+# free"))
}

// A text counts as a person's once one of its letters is another.
func TestATextOfAPersonIsKnown(t *testing.T) {
	t.Parallel()
	body := Signed("title", "body\nmore")
	require.True(t, Unchanged("title", body) && Unchanged("title", ""))
	require.True(t, Unchanged("title", "body\r\nmore"+body[len("body\nmore"):]))
	require.False(t, Unchanged("other", body) || Unchanged("title", "x"+body) || Unchanged("title", body+"x") || Unchanged("", "x"))
}
