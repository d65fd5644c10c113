package loopguard

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

const sentence = "I will now look at the file once more, to be sure that it is right.\n"

func TestStrikeNamesTheLoop(t *testing.T) {
	t.Parallel()
	g := New()
	require.Nil(t, g.Text(strings.Repeat(sentence, 9)))
	s := g.Text(strings.Repeat(sentence, 9))
	require.Equal(t, &Strike{
		Kind: KindText, N: 1, At: 50, Detail: `"I will now look at the file once more, to be sure " 10 times, every 68 characters`,
	}, s)
	require.Contains(t, s.Nudge(), s.Detail)

	for range 4 {
		require.Nil(t, g.Call("read\x1b_file", map[string]any{"path": "a.go"}))
		g.EndTurn()
		g.Result("x")
	}
	s = g.Call("read\x1b_file", map[string]any{"path": "a.go"})
	require.Equal(t, &Strike{
		Kind: KindCall, N: 2, Detail: `read _file {"path":"a.go"}: 5 times in a row, each with the same result`,
	}, s)
	require.Contains(t, s.Nudge(), "was not executed")
	require.Same(t, s, g.Call("other", nil), "a stopped agent does nothing more")
	require.Same(t, s, g.Text("other"))
	require.Same(t, s, g.Thought(""))
	require.Same(t, s, g.Judged(30, nil, nil))

	g.Prompt()
	for i := range 9 {
		require.Nil(t, g.Call(fmt.Sprint("tool", i%2), nil))
	}
	s = g.Call("tool1", nil)
	require.Equal(t, &Strike{
		Kind: KindCycle, N: 1, Detail: "a cycle of 2 calls (tool0, tool1): 5 times in a row, each without a result",
	}, s)
}

func TestLongDetailsAreCut(t *testing.T) {
	t.Parallel()
	g := New()
	long := strings.Repeat("é", 10_000)
	var s *Strike
	for range repeats {
		s = g.Call(long, map[string]any{"a": long})
	}
	require.NotNil(t, s)
	require.Less(t, len(s.Detail), 1000)
	require.NotContains(t, s.Detail, "\uFFFD")
}

func TestCanonicalValues(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	same := [][]any{
		{nil, json.RawMessage("null"), (*int)(nil)},
		{1, 1.0, json.Number("1"), json.Number("1.0"), json.Number("10e-1"), json.Number("0.1E+1"), int64(1), uint8(1), float32(1)},
		{0, 0.0, math.Copysign(0, -1), json.Number("-0"), json.Number("0e99"), json.Number("0.00")},
		{1.5, json.Number("15e-1")},
		{-1.5, json.Number("-1.5"), json.Number("-15e-1")},
		{1e21, json.Number("1000000000000000000000"), json.Number("1e21")},
		{json.Number("9007199254740993")},
		{json.Number("9007199254740992")},
		{object{"a": 1, "b": []any{"x", nil}}, json.RawMessage(`{"b":["x",null],"a":1.0}`)},
		{[]any{}, []string{}, json.RawMessage("[]")},
		{object{}, map[string]string{}},
		{[]any{"a", "b"}, []string{"a", "b"}},
		{[]any{"ab"}},
		{[]any{[]any{"a"}, "b"}},
		{[]any{[]any{"a", "b"}}},
		{"1"},
		{"true"},
		{true},
		{""},
		{object{"a": nil}},
		{object{"a": object{}}},
		{json.Number("1e99999999999999999999")},
		{math.NaN()},
		{math.Inf(1)},
	}
	for i, values := range same {
		for _, v := range values {
			for j, others := range same {
				for _, w := range others {
					require.Equal(t, i == j, digestOf(v) == digestOf(w), "%#v and %#v", v, w)
				}
			}
		}
	}
	require.NotEqual(t, digestOf("a", "b"), digestOf("ab", ""))
}

// TestTextAgainstTheRule compares strikes with the rule written down as plainly as it can be.
func TestTextAgainstTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfNDistinct(rapid.StringMatching(`[a-zé好]{1,30}`), 2, 8, rapid.ID[string]).Draw(t, "words")
		lines := rapid.SliceOfN(rapid.SliceOfN(rapid.SampledFrom(words), 1, 12), 1, 4).Draw(t, "lines")
		var text strings.Builder
		for range rapid.IntRange(1, 60).Draw(t, "n") {
			line := rapid.SampledFrom(lines).Draw(t, "line")
			text.WriteString(strings.Join(line, " "))
			if rapid.IntRange(0, 9).Draw(t, "odd") == 0 {
				text.WriteString(rapid.StringMatching(` [0-9]{1,8}`).Draw(t, "tail"))
			}
			text.WriteString("\n")
		}
		e := event{kind: fieldText, text: text.String()}
		var got []int
		read := 0
		_ = e.feed(New(), func(s *Strike) error {
			read += s.At
			got = append(got, read)
			return nil
		})
		require.Equal(t, ruled(text.String()), got)
	})
}

// ruled returns behind which bytes of a text the rule sees a loop, two at most.
func ruled(text string) []int {
	var out []int
	var since []rune
	places := map[string][]int{}
	for i, r := range text {
		since = append(since, r)
		at := len(since) - windowSize
		if at < 0 {
			continue
		}
		window := string(since[at:])
		all := append(places[window], at)
		places[window] = all
		if len(all) < windowTimes {
			continue
		}
		all = all[len(all)-windowTimes:]
		gaps := map[string]bool{}
		for k := 1; k < windowTimes; k++ {
			gaps[string(since[all[k-1]:all[k]])] = true
		}
		if len(gaps) > maxGaps || all[windowTimes-1]-all[0] > maxMean*(windowTimes-1) {
			continue
		}
		out = append(out, i+len(string(r)))
		since, places = nil, map[string][]int{}
		if len(out) == maxStrikes {
			return out
		}
	}
	return out
}

// noResult is a result that only the newest call has, which is not known yet.
func noResult(results map[int]bool) int {
	for r, known := range results {
		if !known {
			return r
		}
	}
	return -1
}

// TestCallsAgainstTheRule does so for calls.
func TestCallsAgainstTheRule(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		cycle := rapid.SliceOfN(rapid.IntRange(0, 3), 1, 12).Draw(t, "cycle")
		noise := rapid.IntRange(5, 80).Draw(t, "noise")
		type made struct{ call, result int }
		var all []made
		g := New()
		for i := range rapid.IntRange(1, 130).Draw(t, "n") {
			m := made{call: cycle[i%len(cycle)]}
			if i%noise == noise-1 {
				m = made{9, i}
			} else if rapid.IntRange(0, 40).Draw(t, "changes") == 0 {
				m.result = 1
			}
			all = append(all, m)
			want := 0
			for k := 1; k <= 10 && want == 0 && 5*k <= len(all); k++ {
				want = k
				for j := len(all) - 4*k; j < len(all); j++ {
					if all[j].call != all[j-k].call || j < len(all)-1 && all[j].result != all[j-k].result {
						want = 0
					}
				}
			}
			if want == 0 {
				same, results := 0, map[int]bool{}
				for j := max(0, len(all)-within); j < len(all); j++ {
					if all[j].call == m.call {
						same++
						results[all[j].result] = results[all[j].result] || j < len(all)-1
					}
				}
				if delete(results, noResult(results)); same >= often && len(results) == 1 {
					want = 1
				}
			}
			s := g.Call("tool", map[string]any{"n": m.call})
			require.Equal(t, want > 0, s != nil, "call %d", i)
			if s != nil {
				require.Equal(t, want == 1, s.Kind == KindCall)
				return
			}
			g.EndTurn()
			g.Result(m.result)
		}
	})
}

// drawEvents draws what an agent might do, with much that repeats.
func drawEvents(t *rapid.T) []event {
	piece := rapid.SampledFrom([]string{
		sentence, sentence, "OK\n", "```", "`", "``", "~~~\n", "\n", "| a | b |\n", "+--", "+", " ", ">", "- x\n", "好的。", "🚀",
		"\xe5\xa5", "\xff", strings.Repeat("=", 50), "words that stand here", "\t", "\r\n", "├─",
	})
	drawn := rapid.Custom(func(t *rapid.T) event {
		switch rapid.IntRange(0, 9).Draw(t, "what") {
		case 0:
			return event{kind: fieldCall, name: "t", args: map[string]any{"n": rapid.IntRange(0, 1).Draw(t, "n")}}
		case 1:
			return event{kind: fieldResult, result: rapid.IntRange(0, 2).Draw(t, "result")}
		case 2:
			return event{kind: fieldThought, text: strings.Repeat(piece.Draw(t, "piece"), rapid.IntRange(1, 30).Draw(t, "n"))}
		default:
			return event{kind: fieldText, text: strings.Repeat(piece.Draw(t, "piece"), rapid.IntRange(1, 30).Draw(t, "n"))}
		}
	})
	round := rapid.SliceOfN(drawn, 1, 6).Draw(t, "round")
	var events []event
	for range rapid.IntRange(1, 15).Draw(t, "rounds") {
		events = append(events, round...)
	}
	return append(events, rapid.SliceOfN(drawn, 0, 10).Draw(t, "more")...)
}

func TestChunkingChangesNothing(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		events := drawEvents(t)
		var cut []event
		for _, e := range events {
			rest := e.text
			for rest != "" {
				n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
				cut = append(cut, event{kind: e.kind, text: rest[:n]})
				rest = rest[n:]
			}
			if e.text == "" {
				cut = append(cut, e)
			}
		}
		requireSame(t, events, cut)
	})
}

// requireSame compares the strikes of two cuts of the same texts. Where a text is broken UTF-8, a strike that is found in the
// middle of what seemed to become a character is told with the next piece, so that places may differ; nothing else does.
func requireSame(t require.TestingT, one, other []event) {
	want, got := strikes(one), strikes(other)
	if slices.ContainsFunc(one, func(e event) bool { return !utf8.ValidString(e.text) }) {
		want, got = placeless(want), placeless(got)
	}
	require.Equal(t, want, got)
}

func placeless(strikes []string) []string {
	var out []string
	for _, s := range strikes {
		_, rest, _ := strings.Cut(s, " ")
		out = append(out, rest)
	}
	return out
}

func TestPromptForgetsAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, after := drawEvents(t), drawEvents(t)
		want := strikes(after)
		events := append(append(before, event{kind: fieldPrompt}), after...)
		got := strikes(events)
		got = got[len(strikes(before)):]
		require.Equal(t, placeless(want), placeless(got))
	})
}

func TestCloneLeavesTheGuardAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		before, aside, after := drawEvents(t), drawEvents(t), drawEvents(t)
		feed := func(g *Guard, events []event) (out []string) {
			for i := range events {
				_ = events[i].feed(g, func(s *Strike) error {
					out = append(out, fmt.Sprint(i, *s))
					return nil
				})
			}
			return out
		}
		plain, watched := New(), New()
		require.Equal(t, feed(plain, before), feed(watched, before))
		clone := watched.Clone()
		feed(watched.Clone(), aside)
		want := feed(plain, after)
		require.Equal(t, want, feed(watched, after))
		require.Equal(t, want, feed(clone, after), "and the clone goes on from where it was made")
	})
}

func TestRandomTextIsNoLoop(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringMatching(`[A-Za-z]{2,12}[,.]?`), 400, 900).Draw(t, "words")
		g := New()
		for i, w := range words {
			sep := " "
			if i%11 == 0 {
				sep = "\n- "
			}
			require.Nil(t, g.Text(w+sep))
		}
	})
}

// A loop is found however far back the stream began: memory is bounded, detection is not.
func TestNothingIsLostInALongStream(t *testing.T) {
	t.Parallel()
	g := New()
	for i := range 20_000 {
		require.Nil(t, g.Text(fmt.Sprintf("Number %d of the files is done, and what it holds is %x.\n", i, i*i)))
	}
	var got *Strike
	n := 0
	for ; got == nil; n++ {
		got = g.Text(sentence)
	}
	require.Equal(t, windowTimes, n)
}

// What was said before a strike and what comes after it are never one loop, and no more is needed after it than before.
func TestAStrikeClears(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		line := rapid.StringMatching(`[a-z]{1,40} [a-z]{1,40} [a-z]{1,40}\n`).Draw(t, "line")
		at := []int{}
		e := event{kind: fieldText, text: strings.Repeat(line, 30+2*500/len(line))}
		_ = e.feed(New(), func(s *Strike) error {
			at = append(at, s.At)
			return nil
		})
		require.Equal(t, []int{windowSize + 9*len(line), windowSize + 9*len(line)}, at)
	})
}

// A strike in the middle of what was carried over loses nothing of what is behind it.
func TestStrikeInWhatWasCarried(t *testing.T) {
	t.Parallel()
	g := New()
	text := strings.Repeat("\xe5\xa5a", 26) // the 77th character completes a loop, and 77 bytes end in half a character
	require.Nil(t, g.Text(text[:77]))
	s := g.Text(text[77:])
	require.NotNil(t, s)
	require.Zero(t, s.At, "all of the piece is to be read again")
	require.Zero(t, g.text.carried)
}

func FuzzText(f *testing.F) {
	f.Add(strings.Repeat(sentence, 12), uint8(3))
	f.Add("```go\nx\n```\n| a |\n~~~\n"+strings.Repeat("OK\n", 30), uint8(1))
	f.Add("\xf0\x9f\x9a\xff"+strings.Repeat("🚀", 200), uint8(2))
	f.Fuzz(func(t *testing.T, text string, size uint8) {
		var cut []event
		for rest := text; rest != ""; {
			n := min(int(size)+1, len(rest))
			cut = append(cut, event{kind: fieldText, text: rest[:n]})
			rest = rest[n:]
		}
		requireSame(t, []event{{kind: fieldText, text: text}}, cut)
	})
}
