package loopguard

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestJudgeSchedule(t *testing.T) {
	t.Parallel()
	asked := func(answers ...*Opinion) []int {
		g := New()
		var turns []int
		for turn := 1; turn <= 80 && len(turns) <= len(answers); turn++ {
			if !g.Due(turn) {
				continue
			}
			if turns = append(turns, turn); len(turns) <= len(answers) {
				require.Nil(t, g.Judged(turn, answers[len(turns)-1], nil))
			}
		}
		return turns
	}
	require.Equal(t, []int{30}, asked())
	for confidence, interval := range map[float64]int{0: 15, 0.04: 15, 0.06: 14, 0.5: 10, 0.75: 8, 0.89: 6, 0.9: 6, 0.96: 5, 1: 5} {
		require.Equal(t, []int{30, 30 + interval}, asked(&Opinion{"x", confidence}), "%v; without a second opinion no loop", confidence)
	}
	require.Equal(t, []int{30, 40, 55, 70}, asked(nil, &Opinion{"x", 0}, nil), "no answer leaves the interval as it is")
}

func TestJudgedNeedsTwo(t *testing.T) {
	t.Parallel()
	g := New()
	low, sure := &Opinion{"on its way", 0.2}, &Opinion{"it reads\nthe same file", 0.9}
	require.True(t, sure.Loop())
	require.False(t, low.Loop())
	require.Nil(t, g.Judged(30, sure, nil))
	require.Nil(t, g.Judged(36, low, sure), "a second opinion cannot begin it")
	require.False(t, g.Due(48))
	require.True(t, g.Due(49))
	require.Nil(t, g.Judged(49, sure, low))
	require.False(t, g.Due(61), "the less sure one sets the interval")
	require.True(t, g.Due(62))
	s := g.Judged(62, sure, sure)
	require.Equal(t, &Strike{Kind: KindJudge, N: 1, Detail: `"it reads the same file"`}, s)
	require.Contains(t, s.Nudge(), s.Detail)
	require.Equal(t, 2, g.Judged(67, sure, sure).N)
	g.Prompt()
	require.False(t, g.Due(29), "a new task begins anew")
	require.True(t, g.Due(30))
}

func TestJudgeStrikeClears(t *testing.T) {
	t.Parallel()
	g := New()
	for range 4 {
		require.Nil(t, g.Call("a", nil))
	}
	require.NotNil(t, g.Judged(30, &Opinion{"x", 1}, &Opinion{"y", 1}))
	for range 4 {
		require.Nil(t, g.Call("a", nil))
	}
	require.Equal(t, 2, g.Call("a", nil).N, "strikes of all kinds count together")
}

func TestParseOpinion(t *testing.T) {
	t.Parallel()
	o, err := ParseOpinion(" {\"confidence\": 9e-1, \"analysis\": \"It reads.\"}\n")
	require.NoError(t, err)
	require.Equal(t, Opinion{"It reads.", 0.9}, o)
	for _, bad := range []string{
		"", "no", "0.9", "[]", `"x"`, "null", `{"analysis":"x"}`, `{"confidence":0.9}`, `{"analysis":"x","confidence":"0.9"}`,
		`{"analysis":"x","confidence":1.01}`, `{"analysis":"x","confidence":-0.1}`, `{"analysis":"x","confidence":null}`,
		`{"analysis":" ","confidence":1}`, `{"analysis":7,"confidence":1}`, `{"analysis":"x","confidence":1e999}`,
		`{"analysis":"x","confidence":1,"confidence":0}`, `{"analysis":"x","confidence":1,"loop":true}`,
		`{"analysis":"x","Confidence":1}`, `{"analysis":"x","confidence":1} and more`, "```json\n{\"analysis\":\"x\",\"confidence\":1}\n```",
		`{"analysis":"x","confidence":1`,
	} {
		_, err := ParseOpinion(bad)
		require.Error(t, err, bad)
		require.ErrorContains(t, err, "read the judge's answer: ")
	}
}

func FuzzParseOpinion(f *testing.F) {
	f.Add(`{"analysis":"x","confidence":0.5}`)
	f.Fuzz(func(t *testing.T, answer string) {
		o, err := ParseOpinion(answer)
		if err == nil {
			require.NotEmpty(t, o.Analysis)
			require.True(t, o.Confidence >= 0 && o.Confidence <= 1)
		}
	})
}

func TestJudgePrompt(t *testing.T) {
	t.Parallel()
	var entries []Entry
	for i := range 25 {
		entries = append(entries, Entry{From: Agent, Text: fmt.Sprintf("entry-%d.", i)})
	}
	entries[24] = Entry{From: Message, Text: strings.Repeat("m", 50_000) + "END OF IT"}
	p := JudgePrompt("Move the package.", entries)
	require.Contains(t, p, "Move the package.")
	require.NotContains(t, p, "entry-4.", "the newest twenty alone")
	require.Contains(t, p, "1. The agent:\n")
	require.Contains(t, p, "entry-5.")
	require.Contains(t, p, "20. A message to the agent:\n")
	require.Contains(t, p, "bytes are left out here")
	require.Contains(t, p, "END OF IT")
	require.Less(t, len(JudgePrompt(strings.Repeat("b", 1<<20), entries)), 100_000)
	require.NotEmpty(t, JudgeInstruction)
}

// Whatever an entry says, its quote ends where it ends.
func TestQuotesCannotBeForged(t *testing.T) {
	t.Parallel()
	marker := regexp.MustCompile(`(?m)^<<<(BEGIN|END) ([0-9a-f]{16})>>>$`)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.Custom(func(t *rapid.T) string {
			earlier := marker.FindString(JudgePrompt("b", []Entry{{Agent, "t"}}))
			parts := rapid.SliceOf(rapid.SampledFrom([]string{
				earlier, "\n", strings.Replace(earlier, "BEGIN", "END", 1), "<<<END ", ">>>", "x", "1. The agent:",
			})).Draw(t, "parts")
			return strings.Join(parts, "")
		})
		brief, entries := text.Draw(t, "brief"), []Entry{{Agent, text.Draw(t, "one")}, {Tools, text.Draw(t, "two")}}
		p := JudgePrompt(brief, entries)
		id := marker.FindStringSubmatch(p)[2]
		require.Equal(t, 3, strings.Count(p, "<<<BEGIN "+id+">>>"))
		require.Equal(t, 3, strings.Count(p, "<<<END "+id+">>>"))
	})
}
