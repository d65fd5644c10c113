package compile

import (
	"fmt"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
)

func fitted(view *view, tail Tail, window int) contextscope.Request {
	view.in.Window = window
	return view.compile(tail)
}

func TestFitTrimsInItsOrder(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read")).Tool(big("a")).Steer("use tabs").Turn(sessiontest.Call("b", "read")).Tool(big("b")).
		Turn(sessiontest.Call("c", "read")).Tool(big("c"))
	view := open(Input{Agent: "gen/1", Narrative: narrative.Plain, Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	tail := Tail{
		Recall:    []contextscope.Recalled{{Name: "best", Text: strings.Repeat("r", 600)}, {Name: "worst", Text: strings.Repeat("r", 600)}},
		Loaded:    []Loaded{{Handle: "small@1", Text: strings.Repeat("l", 500)}, {Handle: "large@1", Text: strings.Repeat("l", 900)}},
		Reminders: []string{"quick"},
	}
	for i := range 12 {
		tail.Artifacts = append(tail.Artifacts, contextscope.Listed{Handle: fmt.Sprintf("a-%d@1", i), What: strings.Repeat("w", 300)})
	}
	whole := fitted(view, tail, 0)
	require.Zero(t, whole.Over)
	before := textOf(t, whole)
	bytes := 0
	for _, c := range whole.Contents {
		bytes += content.Bytes(c.Parts)
	}
	require.Equal(t, bytes, whole.Bytes)
	require.Equal(t, firstRatio.of(bytes), whole.Tokens)

	steps := []struct {
		less  int
		notes []string
		check func(r *contextscope.Request, text string)
	}{
		{0, nil, func(*contextscope.Request, string) {}},
		{10, []string{"1 notes from memory left out, the worst first"}, func(_ *contextscope.Request, text string) {
			require.Contains(t, text, "Note best")
			require.NotContains(t, text, "Note worst")
		}},
		{
			1900,
			[]string{"2 notes from memory left out, the worst first", "1 loaded artifacts shown as handles, the largest first"},
			func(_ *contextscope.Request, text string) {
				require.Contains(t, text, "Artifact large@1 has no room in this request")
				require.Contains(t, text, "Artifact small@1:")
				require.NotContains(t, text, recallText)
			},
		},
		{2700, []string{"2 notes", "2 loaded", "1 artifacts not listed"}, func(_ *contextscope.Request, text string) {
			require.Contains(t, text, "and 1 older ones")
		}},
		{4000, []string{"2 notes", "2 loaded", "2 artifacts not listed", "1 large results"}, func(r *contextscope.Request, text string) {
			require.Contains(t, text, "a-2@1")
			require.Contains(t, outputs(r.Contents)[0], `load_artifact "event:2"`)
			require.Equal(t, outputs(whole.Contents)[1:], outputs(r.Contents)[1:])
		}},
		{7300, []string{"2 notes", "2 loaded", "2 artifacts not listed", "2 large results", "1 turns left out"}, func(r *contextscope.Request, _ string) {
			require.Equal(t, []string{"Task: gen", leftOutText(2, 1, 2), "use tabs"}, sessiontest.Texts(r.Contents[0].Parts))
			require.Len(t, outputs(r.Contents), 2)
		}},
		{7900, []string{"2 notes", "2 loaded", "2 artifacts not listed", "2 large results", "2 turns left out"}, func(r *contextscope.Request, _ string) {
			require.Equal(t, []string{"Task: gen", leftOutText(4, 1, 5), "use tabs"}, sessiontest.Texts(r.Contents[0].Parts))
			require.Equal(t, outputs(whole.Contents)[2:], outputs(r.Contents), "the newest turn is whole")
			require.Contains(t, tailOfRequest(r), "quick")
		}},
		{
			9800,
			[]string{"2 notes", "2 loaded", "2 artifacts not listed", "2 large results", "2 turns left out", "1 results of the newest"},
			func(r *contextscope.Request, _ string) {
				require.Contains(t, outputs(r.Contents)[0], `load_artifact "event:7"`)
			},
		},
	}
	for _, step := range steps {
		window := firstRatio.of(bytes - step.less)
		r := fitted(view, tail, window)
		sessiontest.CheckRequest(t, r.Contents)
		require.Zero(t, r.Over, "less %d", step.less)
		require.LessOrEqual(t, r.Tokens, window)
		notes := traceOf(t, &r, "fit").Notes
		require.Len(t, notes, len(step.notes), "less %d: %v", step.less, notes)
		for i, note := range step.notes {
			require.True(t, strings.HasPrefix(notes[i], note), "less %d: %v", step.less, notes)
		}
		step.check(&r, strings.Join(tailOfRequest(&r), "\n"))
	}
	r := fitted(view, tail, 10)
	require.Equal(t, r.Tokens-10, r.Over)
	require.Contains(t, traceOf(t, &r, "fit").Notes, fmt.Sprintf("%d tokens too many, and nothing more that may go", r.Over))
	require.Equal(t, before, textOf(t, fitted(view, tail, 0)), "the view stays as it was")
	require.Greater(t, view.tokens(), 10)
}

// One turn of many results can be more than a window: as few of them as it takes are shown as handles, the largest first.
func TestFitMakesRoomWithinTheNewestTurn(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Work(0, 400).Turn(sessiontest.Call("a", "read"), sessiontest.Call("b", "read"), sessiontest.Call("c", "read"), sessiontest.Call("d", "stat"))
	many := map[string]any{}
	for i := range 30 {
		many[fmt.Sprint(i)] = strings.Repeat("v", 80)
	}
	stat := sessiontest.Result("d", "stat", "")
	stat.FunctionResponse.Response = many
	l.Tool(sessiontest.Result("a", "read", strings.Repeat("a", 40_000)), sessiontest.Result("b", "read", strings.Repeat("b", 90_000)),
		sessiontest.Result("c", "read", "small"), stat)
	view := open(Input{Agent: "gen/1", Brief: Brief{Task: spec.Task{ID: "gen"}}, Events: l.Events})
	before := textOf(t, l.Events)
	r := fitted(view, Tail{}, 15_000)
	sessiontest.CheckRequest(t, r.Contents)
	require.Zero(t, r.Over)
	out := outputs(r.Contents)
	require.Equal(t, []string{strings.Repeat("a", 40_000), "small"}, []string{out[0], out[2]})
	require.Contains(t, out[1], `[90000 bytes left out; load_artifact "event:4" shows them]`)
	_, origins := view.Explain(view.in)
	require.Equal(t, "fit", origins[2][1].Processor)
	for window := 1; window < 3000; window += 9 { // it ends, and breaks nothing, whatever room there is
		r := fitted(view, Tail{}, window)
		sessiontest.CheckRequest(t, r.Contents)
	}
	require.Equal(t, before, textOf(t, l.Events))
}
