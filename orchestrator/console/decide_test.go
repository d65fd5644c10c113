package console

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	one, two := Patch{Task: "one", Text: "+a\n"}, Patch{Task: "two", Text: strings.Repeat("+b\n", 300)}
	for name, c := range map[string]struct {
		m     Matter
		lines string
		want  Ruling
		shows string
	}{
		"a yes":                     {Matter{Accepts: true, Patches: []Patch{one}}, "Y\n", Ruling{Yes: true}, "The patch of one:\n+a\n"},
		"a reason":                  {Matter{Accepts: true, Patches: []Patch{one}}, "the comma stays\n", Ruling{Words: "the comma stays"}, ""},
		"a slip":                    {Matter{Accepts: true, Patches: []Patch{one}}, "no\nyes\n", Ruling{Yes: true}, "rejects it"},
		"later":                     {Matter{Accepts: true, Patches: []Patch{one}, Ways: "divisi accept"}, "\ny\n", Ruling{}, "(divisi -d accept)"},
		"the end":                   {Matter{Accepts: true, Patches: []Patch{one}}, "", Ruling{}, ""},
		"one of a set":              {Matter{Accepts: true, Patches: []Patch{one, two}}, "two: too long\n", Ruling{Words: "too long", Task: "two"}, ""},
		"none of a set":             {Matter{Accepts: true, Patches: []Patch{one, two}}, "it is bad\ny\n", Ruling{Yes: true}, "it is not one of these tasks"},
		"a long patch is cut":       {Matter{Accepts: true, Patches: []Patch{two}}, "", Ruling{}, "+b\n… and 100 more lines\n"},
		"words about a template":    {Matter{Accepts: true}, "say which file\n", Ruling{Words: "say which file"}, "ends their brief"},
		"one word is an answer":     {Matter{For: "an answer to a/1: Which?"}, "y\n", Ruling{Words: "y"}, "The run waits for an answer to a/1: Which?"},
		"control characters do not": {Matter{}, "a\x1b[2Jb\n", Ruling{Words: "ab"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			k := New(Options{Out: &out, Calls: func(hint string) string { return strings.Replace(hint, "divisi", "divisi -d", 1) }})
			said, err := k.Decide(strings.NewReader(c.lines), c.m)
			require.NoError(t, err)
			require.Equal(t, c.want, said)
			require.Contains(t, out.String(), c.shows)
			require.NoError(t, k.Close())
		})
	}
}
