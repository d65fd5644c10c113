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
	patch := func(patches ...Patch) Decision {
		return Decision{Patches: patches, Note: "later: divisi decide", Options: []Option{
			{"accept", "it goes to the landing queue", false}, {"reject", "rejects it", true}, {"skip", "gives it up", false},
		}}
	}
	taken := func(d Decision) Decision {
		d.Elsewhere = []Elsewhere{{"take", "fix it by hand", "divisi take r/one DIR"}}
		return d
	}
	question := func(choices ...string) Decision {
		return Decision{Text: "an answer to a/1: Which?", Choices: choices, Options: []Option{{"answer", "goes to the agent", true}}}
	}
	for name, c := range map[string]struct {
		d     Decision
		lines string
		want  Answer
		shows string
	}{
		"a yes":                  {patch(one), "Y\n", Answer{Option: "accept"}, "The patch of one:\n+a\n"},
		"a reason":               {patch(one), "the comma stays\n", Answer{Option: "reject", Text: "the comma stays"}, ""},
		"an option by its name":  {patch(one), "skip\n", Answer{Option: "skip"}, "3 skip: gives it up"},
		"a number":               {patch(one), "3\n", Answer{Option: "skip"}, "1 to 3, or the word; a sentence means reject; Enter leaves it open: "},
		"a number that asks why": {patch(one), "2\nugly\n", Answer{Option: "reject", Text: "ugly"}, "Why, in words? Enter leaves it open: "},
		"a word that asks why":   {patch(one), "reject\n\n", Answer{}, "Why, in words?"},
		"why of a set":           {patch(one, two), "2\nbad\none\none: bad\n", Answer{"reject", "bad", "one"}, "No reason is behind the name of one."},
		"a command":              {taken(patch(one)), "take\n5\n4\n1\n", Answer{Option: "accept"}, "To take, leave it open and run: divisi -d take r/one DIR."},

		"a slip":                    {patch(one), "no\nyes\n", Answer{Option: "accept"}, "\"no\" is none of the answers, and one word is no sentence."},
		"later":                     {patch(one), "\ny\n", Answer{}, "(later: divisi -d decide)"},
		"the end":                   {patch(one), "", Answer{}, ""},
		"one of a set":              {patch(one, two), "two: too long\n", Answer{"reject", "too long", "two"}, ""},
		"none of a set":             {patch(one, two), "it is bad\ny\n", Answer{Option: "accept"}, "it is not one of these tasks"},
		"a long patch is cut":       {patch(two), "", Answer{}, "+b\n… and 100 more lines\n"},
		"one word is an answer":     {question(), "y\n", Answer{Option: "answer", Text: "y"}, "The run waits for an answer to a/1: Which?"},
		"the number of a choice":    {question("left", "right"), "2\n", Answer{Option: "answer", Text: "right"}, "2: right"},
		"a number that is none":     {question("left", "right"), "3\n1\n", Answer{Option: "answer", Text: "left"}, "3 is the number of none. Your answer,"},
		"a number that is proposed": {question("80", "443"), "443\n", Answer{Option: "answer", Text: "443"}, ""},
		"control characters do not": {question("a\x1b[2J"), "a\x1b[2Jb\n", Answer{Option: "answer", Text: "ab"}, "1: a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			k := New(Options{Out: &out, Calls: func(hint string) string { return strings.Replace(hint, "divisi", "divisi -d", 1) }})
			said, err := k.Decide(strings.NewReader(c.lines), c.d)
			require.NoError(t, err)
			require.Equal(t, c.want, said)
			require.Contains(t, out.String(), c.shows)
			require.NoError(t, k.Close())
		})
	}
}
