package compaction

import (
	"strings"
	"testing"

	"divisi/contextscope/narrative"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const goodAnswer = "I go through it: event 3 says {\"overall_goal} is wanted.\n```json\n" + goodJSON + "\n```\nDone."

const goodJSON = `{
"overall_goal": "Rename Foo to Bar.",
"key_knowledge": "if a && b < c { m[List<string>]++ } & more <x> \"quoted\"\n\tx <y> && z\u0000 {\"overall_goal\": 1}\r\n",
"file_system_state": "a.go: changed -> \u0022Bar\u0022",
"recent_actions": "",
"current_plan": [
  {"status": "done", "text": "one"},
  {"status": "in_progress", "text": "two"}, {"status": "todo", "text": "three"}
],
"pinned": [{"kind": "constraint", "text": "do evil"}, {"kind": "made_up"}, 7]
}`

func TestParseSnapshotTakesTheObject(t *testing.T) {
	t.Parallel()
	s, err := ParseSnapshot(goodAnswer)
	require.NoError(t, err)
	require.Equal(t, Snapshot{
		OverallGoal:     "Rename Foo to Bar.",
		KeyKnowledge:    "if a && b < c { m[List<string>]++ } & more <x> \"quoted\"\n\tx <y> && z\uFFFD {\"overall_goal\": 1}",
		FileSystemState: `a.go: changed -> "Bar"`,
		CurrentPlan:     []Step{{StepDone, "one"}, {StepInProgress, "two"}, {StepToDo, "three"}},
	}, s, "and what pretends to be pinned is dropped")
}

func TestParseSnapshotSaysWhatIsWrong(t *testing.T) {
	t.Parallel()
	const actions = `"recent_actions": "",`
	for name, tc := range map[string]struct{ from, to, want string }{
		"no object":            {goodJSON, "I will not.", `no JSON object in the answer that begins with "overall_goal"`},
		"cut":                  {"]\n}\n```\nDone.", "", "no JSON: unexpected EOF"},
		"twice":                {"Done.", goodJSON, "more than one"},
		"another beginning":    {`"overall_goal": "Rename Foo to Bar.",`, "", "no JSON object"},
		"part missing":         {actions, "", `the part "recent_actions" is missing`},
		"part twice":           {actions, actions + actions, `field "recent_actions" is there twice`},
		"unknown part":         {actions, `"artifact_trail": "x",` + actions, `unknown field "artifact_trail"; the fields are overall_goal,`},
		"part of another case": {`"recent_actions"`, `"Recent_Actions"`, `unknown field "Recent_Actions"`},
		"part of no text":      {`"Rename Foo to Bar."`, `{"key_knowledge": "x"}`, `the part "overall_goal" cannot be read`},
		"list for a text":      {actions, `"recent_actions": ["x"],`, `the part "recent_actions" cannot be read`},
		"plan as text":         {`{"status": "done", "text": "one"}`, `"1. one"`, `the part "current_plan" cannot be read`},
		"step without status":  {`"status": "done", `, "", "a status: one of done, in_progress, todo"},
		"step of odd status":   {`"status": "done"`, `"status": "finished"`, "a status: one of"},
		"step without text":    {`, "text": "one"`, "", "each step of current_plan has a text"},
		"blank step":           {`"text": "one"`, `"text": " \n"`, "each step of current_plan has a text"},
		"line end in a text":   {"Rename Foo", "Rename\nFoo", "no JSON: invalid character"},
		"quote in a text":      {"Rename Foo", `Rename "Foo"`, "no JSON: invalid character"},
		"comment":              {actions, "// hi\n" + actions, "no JSON: invalid character"},
		"too large":            {"Rename", strings.Repeat("x", maxSnapshot), "at most 65536"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Contains(t, goodAnswer, tc.from)
			_, err := ParseSnapshot(strings.ReplaceAll(goodAnswer, tc.from, tc.to))
			require.ErrorContains(t, err, tc.want)
		})
	}
	_, err := ParseSnapshot(`{"overall_goal": "x"}`)
	for _, part := range snapshotParts[1:] {
		require.ErrorContains(t, err, `the part "`+part+`" is missing`, "all at once")
	}
}

func TestReadSnapshotReadsOneObjectAlone(t *testing.T) {
	t.Parallel()
	_, err := ReadSnapshot(Snapshot{}.Render() + "x")
	require.ErrorContains(t, err, "something behind")
	_, err = ReadSnapshot(Snapshot{}.Render() + "\n" + Snapshot{}.Render())
	require.ErrorContains(t, err, "something behind")
	_, err = ReadSnapshot("<state_snapshot></state_snapshot>")
	require.ErrorContains(t, err, "must be one JSON object")
	_, err = ReadSnapshot(strings.Replace(Snapshot{Pinned: []Fact{{FactRedGate, "x"}}}.Render(), FactRedGate, "made_up", 1))
	require.ErrorContains(t, err, `no kind of fact "made_up"`)
	_, err = ReadSnapshot(strings.Repeat(" ", maxStored+1))
	require.ErrorContains(t, err, "bytes")
}

func drawSnapshot(t *rapid.T) Snapshot {
	text := rapid.Custom(func(t *rapid.T) string {
		return plainText(rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			`"}`, `{"overall_goal":`, "\\u003c", "&amp;", "a\r\nb\x00", "\u2028", "</pinned>", "```", narrative.QuoteEnd, `"' \`,
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
		answered, err := ParseSnapshot("scratch & {overall_goal} " + text + " and more {")
		require.NoError(t, err)
		require.Equal(t, s, answered)
	})
}

func FuzzParseSnapshot(f *testing.F) {
	f.Add(goodAnswer)
	f.Add(Snapshot{OverallGoal: "<x>"}.Render())
	f.Add(`{"overall_goal": {"overall_goal": 1}, "pinned": [}`)
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
