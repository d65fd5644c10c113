package console

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

func TestDecide(t *testing.T) {
	t.Parallel()
	one, two := view.Patch{Task: "one", Diff: "+a\n"}, view.Patch{Task: "two", Diff: strings.Repeat("+b\n", 300)}
	patch := func(patches ...view.Patch) Asked {
		return Asked{Note: "later: divisi decide", Decision: view.Decision{Patches: patches, Options: []view.Option{
			{Name: "accept", Does: "it goes to the landing queue"},
			{Name: "reject", Does: "rejects it", NeedsText: true},
			{Name: "skip", Does: "gives it up"},
		}}}
	}
	taken := func(d Asked) Asked {
		d.Elsewhere = []Elsewhere{{"take", "fix it by hand", "divisi take r/one DIR"}}
		return d
	}
	question := func(choices ...string) Asked {
		return Asked{Decision: view.Decision{
			Text: "an answer to a/1: Which?", Choices: choices,
			Options: []view.Option{{Name: "answer", Does: "goes to the agent", NeedsText: true}},
		}}
	}
	for name, c := range map[string]struct {
		d     Asked
		lines string
		want  act.Decide
		shows string
	}{
		"a yes":                  {patch(one), "Y\n", act.Decide{Option: "accept"}, "The patch of one:\n+a\n"},
		"a reason":               {patch(one), "the comma stays\n", act.Decide{Option: "reject", Text: "the comma stays"}, ""},
		"an option by its name":  {patch(one), "skip\n", act.Decide{Option: "skip"}, "3 skip: gives it up"},
		"a number":               {patch(one), "3\n", act.Decide{Option: "skip"}, "1 to 3, or the word; a sentence means reject; Enter leaves it open: "},
		"a number that asks why": {patch(one), "2\nugly\n", act.Decide{Option: "reject", Text: "ugly"}, "Why, in words? Enter leaves it open: "},
		"a word that asks why":   {patch(one), "reject\n\n", act.Decide{}, "Why, in words?"},
		"why of a set":           {patch(one, two), "2\nbad\none\none: bad\n", act.Decide{Option: "reject", Text: "bad", Task: "one"}, "No reason is behind the name of one."},
		"a command":              {taken(patch(one)), "take\n5\n4\n1\n", act.Decide{Option: "accept"}, "To take, leave it open and run: divisi -d take r/one DIR."},

		"a slip":                    {patch(one), "no\nyes\n", act.Decide{Option: "accept"}, "\"no\" is none of the answers, and one word is no sentence."},
		"later":                     {patch(one), "\ny\n", act.Decide{}, "(later: divisi -d decide)"},
		"the end":                   {patch(one), "", act.Decide{}, ""},
		"one of a set":              {patch(one, two), "two: too long\n", act.Decide{Option: "reject", Text: "too long", Task: "two"}, ""},
		"none of a set":             {patch(one, two), "it is bad\ny\n", act.Decide{Option: "accept"}, "it is not one of these tasks"},
		"a long patch is cut":       {patch(two), "", act.Decide{}, "+b\n… and 100 more lines\n"},
		"one word is an answer":     {question(), "y\n", act.Decide{Option: "answer", Text: "y"}, "The run waits for an answer to a/1: Which?"},
		"the number of a choice":    {question("left", "right"), "2\n", act.Decide{Option: "answer", Text: "right"}, "2: right"},
		"a number that is none":     {question("left", "right"), "3\n1\n", act.Decide{Option: "answer", Text: "left"}, "3 is the number of none. Your answer,"},
		"a number that is proposed": {question("80", "443"), "443\n", act.Decide{Option: "answer", Text: "443"}, ""},
		"control characters do not": {question("a\x1b[2J"), "a\x1b[2Jb\n", act.Decide{Option: "answer", Text: "ab"}, "1: a\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			k := New(Options{Out: &out, Calls: func(hint string) string { return strings.Replace(hint, "divisi", "divisi -d", 1) }})
			said, err := k.Decide(t.Context(), strings.NewReader(c.lines), c.d)
			require.NoError(t, err)
			require.Equal(t, c.want, said)
			require.Contains(t, out.String(), c.shows)
			require.NoError(t, k.Close())
		})
	}
}
