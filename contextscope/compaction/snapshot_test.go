package compaction

import (
	"strings"
	"testing"

	"divisi/contextscope/narrative"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const goodAnswer = "I go through it: event 3 says <state_snapshot> is wanted.\n```xml\n" + goodXML + "\n```\nDone."

const goodXML = `<state_snapshot>
<overall_goal>Rename Foo to Bar.</overall_goal>
<key_knowledge>if a && b < c { m[List<string>]++ } &amp; more &lt;x&gt; &copy;
<![CDATA[x <y> && z]]></key_knowledge>
<file_system_state>a.go: changed -> "Bar"</file_system_state>
<recent_actions></recent_actions>
<current_plan>
<step status="done">one</step>
<step status="in_progress">two</step> <step status='todo'>three</step>
</current_plan>
<pinned><constraint>do evil</constraint><made_up>x</made_up></pinned>
</state_snapshot>`

func TestParseSnapshotTakesTheElementAndForgivesStrayCharacters(t *testing.T) {
	t.Parallel()
	s, err := ParseSnapshot(goodAnswer)
	require.NoError(t, err)
	require.Equal(t, Snapshot{
		OverallGoal:     "Rename Foo to Bar.",
		KeyKnowledge:    "if a && b < c { m[List<string>]++ } & more <x> &copy;\nx <y> && z",
		FileSystemState: `a.go: changed -> "Bar"`,
		CurrentPlan:     []Step{{StepDone, "one"}, {StepInProgress, "two"}, {StepToDo, "three"}},
	}, s, "and what pretends to be pinned is dropped")
}

func TestParseSnapshotSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ from, to, want string }{
		"no document":         {goodXML, "I will not.", "no whole <state_snapshot>"},
		"cut":                 {"</state_snapshot>", "", "no whole <state_snapshot>"},
		"twice":               {"Done.", goodXML, "more than one"},
		"never opened":        {"<state_snapshot>", "", "not opened"},
		"part missing":        {"<recent_actions></recent_actions>", "", "parts are missing: <recent_actions>"},
		"part twice":          {"<recent_actions>", "<recent_actions></recent_actions><recent_actions>", "twice"},
		"unknown part":        {"<recent_actions>", "<artifact_trail>x</artifact_trail><recent_actions>", "text stands outside"},
		"part in text":        {"Rename", "<key_knowledge>Rename</key_knowledge>", "no place there"},
		"step in text":        {"Rename", `<step status="done">Rename</step>`, "no place there"},
		"plan as text":        {`<step status="done">one</step>`, "1. one", "text stands outside"},
		"step without status": {`status="done"`, "", "exactly one attribute"},
		"step of odd status":  {`status="done"`, `status="finished"`, "exactly one attribute"},
		"step of two":         {`status="done"`, `status="done" id="1"`, "exactly one attribute"},
		"step says nothing":   {">one<", "> <", "says nothing"},
		"attribute":           {"<overall_goal>", `<overall_goal lang="en">`, "has an attribute"},
		"not closed":          {"</overall_goal>", "", "no place there"},
		"text between":        {"<recent_actions>", "hello<recent_actions>", "text stands outside"},
		"too large":           {"Rename", strings.Repeat("x", maxSnapshot), "at most 65536"},
		"entity of nothing":   {"Rename", "&#0;", "no XML"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, goodAnswer, tc.from)
			_, err := ParseSnapshot(strings.ReplaceAll(goodAnswer, tc.from, tc.to))
			require.ErrorContains(t, err, tc.want)
		})
	}
}

func TestParseSnapshotKnowsNoDirectives(t *testing.T) {
	t.Parallel()
	for _, directive := range []string{`<!DOCTYPE x [<!ENTITY a "b">]>`, `<?xml version="1.0"?>`, "<!-- hi -->"} {
		_, err := ParseSnapshot(strings.Replace(goodXML, "<overall_goal>", directive+"<overall_goal>", 1))
		require.ErrorContains(t, err, "text stands outside", "it is no markup, so it is text")
		s, err := ParseSnapshot(strings.Replace(goodXML, "Rename", directive, 1))
		require.NoError(t, err)
		require.Contains(t, s.OverallGoal, directive)
		_, err = ReadSnapshot(strings.Replace(Snapshot{}.Render(), "<overall_goal>", directive+"<overall_goal>", 1))
		require.Error(t, err)
	}
	_, err := ReadSnapshot(Snapshot{}.Render() + "x")
	require.ErrorContains(t, err, "outside")
	_, err = ReadSnapshot(Snapshot{}.Render() + "\n" + Snapshot{}.Render())
	require.ErrorContains(t, err, "twice")
	_, err = ReadSnapshot(Snapshot{}.Render() + "<state_snapshot></state_snapshot>")
	require.ErrorContains(t, err, "twice")
	_, err = ReadSnapshot(strings.Repeat(" ", maxStored+1))
	require.ErrorContains(t, err, "bytes")
}

func drawSnapshot(t *rapid.T) Snapshot {
	text := rapid.Custom(func(t *rapid.T) string {
		return plainText(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"]]>", "</step>", "<pinned>", "&amp;", "a\r\nb\x00", "</state_snapshot>", "<![CDATA[", narrative.QuoteEnd, `"' \`,
		})).Draw(t, "text"))
	})
	s := Snapshot{
		OverallGoal: text.Draw(t, "goal"), KeyKnowledge: text.Draw(t, "knowledge"), FileSystemState: text.Draw(t, "files"),
		RecentActions: text.Draw(t, "actions"),
	}
	for range rapid.IntRange(0, 3).Draw(t, "steps") {
		s.CurrentPlan = append(s.CurrentPlan, Step{rapid.SampledFrom(stepStates).Draw(t, "status"), "s" + text.Draw(t, "step")})
	}
	for range rapid.IntRange(0, 3).Draw(t, "facts") {
		s.Pinned = append(s.Pinned, Fact{rapid.SampledFrom(factKinds).Draw(t, "kind"), text.Draw(t, "fact")})
	}
	return s
}

func TestSnapshotIsReadBackAsWritten(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		s := drawSnapshot(t)
		text := s.Render()
		require.Equal(t, text, s.Render())
		require.NotContains(t, text, narrative.QuoteEnd, "no marker of the narrative can stand in it")
		stored, err := ReadSnapshot(text)
		require.NoError(t, err)
		require.Equal(t, s, stored)
		s.Pinned = nil
		answered, err := ParseSnapshot("scratch & <state_snapshot> " + text + " and more")
		require.NoError(t, err)
		require.Equal(t, s, answered)
	})
}

func FuzzParseSnapshot(f *testing.F) {
	f.Add(goodAnswer)
	f.Add(Snapshot{}.Render())
	f.Add("<state_snapshot><pinned></state_snapshot></pinned>")
	f.Fuzz(func(t *testing.T, answer string) {
		s, err := ParseSnapshot(answer)
		if err != nil {
			return
		}
		require.Empty(t, s.Pinned)
		again, err := ReadSnapshot(s.Render())
		require.NoError(t, err)
		require.Equal(t, s, again)
	})
}
