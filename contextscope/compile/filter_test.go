package compile

import (
	"testing"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func filtered(t *testing.T, l *sessiontest.Log, rules spec.ContextRules) contextscope.Request {
	t.Helper()
	r := NewCompiler().Compile(Input{Agent: l.Agent, Role: spec.Role{Context: rules}, Events: l.Events})
	sessiontest.CheckRequest(t, r.Contents)
	return r
}

func outputs(contents []*genai.Content) []string {
	var out []string
	for _, c := range contents {
		content.EachResponse(c, func(fr *genai.FunctionResponse) {
			text, _ := fr.Response["output"].(string)
			out = append(out, text)
		})
	}
	return out
}

func TestLastKeepsTheNewestTurns(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).User("go").Turn(sessiontest.Call("a", "read")).Tool(sessiontest.Result("a", "read", "1")).Steer("use tabs").
		Turn(sessiontest.Think("hm")).Turn(sessiontest.Call("b", "read")).Tool(sessiontest.Result("b", "read", "2")).User("more").Turn(sessiontest.Say("three"))
	r := filtered(t, l, spec.ContextRules{Last: 1})
	require.Equal(t, []string{"use tabs", "more"}, sessiontest.Texts(r.Contents[0].Parts), "steering stays, and what led to the turn")
	require.Len(t, r.Contents, 2)
	require.Equal(t, "the newest 1 turns; 2 older ones are left out, steering stays", traceOf(t, &r, "last").What)
	require.Len(t, filtered(t, l, spec.ContextRules{Last: 2}).Contents, 4)
	require.Equal(t, []string{"use tabs"}, sessiontest.Texts(filtered(t, l, spec.ContextRules{Last: 2}).Contents[0].Parts))
	require.Equal(t, []string{"go"}, sessiontest.Texts(filtered(t, l, spec.ContextRules{Last: 3}).Contents[0].Parts),
		"a turn of thoughts alone is none")
}

func TestDropToolsWaitsForATurn(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "grep"), sessiontest.Call("b", "read")).Tool(sessiontest.Result("a", "grep", "hits"), sessiontest.Result("b", "read", "text"))
	rules := spec.ContextRules{DropTools: []string{"grep"}}
	require.Equal(t, []string{"hits", "text"}, outputs(filtered(t, l, rules).Contents))
	r := filtered(t, l.Turn(sessiontest.Say("seen")), rules)
	mask := `[4 bytes left out; load_artifact "event:2" shows them]`
	require.Equal(t, []string{mask, "text"}, outputs(r.Contents))
	require.Equal(t, []string{"e2"}, traceOf(t, &r, "drop_tools").Events)

	late := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "grep")).Turn(sessiontest.Say("x")).Turn(sessiontest.Say("y")).Tool(sessiontest.Result("a", "grep", "late"))
	require.Equal(t, []string{"late"}, outputs(filtered(t, late, rules).Contents), "no turn has seen it yet")
	late.Turn(sessiontest.Say("z"))
	require.Equal(t, []string{`[4 bytes left out; load_artifact "event:4" shows them]`}, outputs(filtered(t, late, rules).Contents))
}

func TestDropToolsCountsFromTheNewestResult(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "grep"), sessiontest.Call("b", "grep")).Tool(sessiontest.Result("a", "grep", "1")).Turn(sessiontest.Say("x")).
		Tool(sessiontest.Result("b", "grep", "2"))
	rules := spec.ContextRules{DropTools: []string{"grep"}}
	require.Equal(t, []string{"1", "2"}, outputs(filtered(t, l, rules).Contents))
}

func TestDropAfterCountsTurns(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Call("a", "read")).Tool(sessiontest.Result("a", "read", "old")).Turn(sessiontest.Call("b", "read")).
		Tool(sessiontest.Result("b", "read", "new")).Turn(sessiontest.Say("1"))
	rules := spec.ContextRules{DropAfter: 2}
	require.Equal(t, []string{"old", "new"}, outputs(filtered(t, l, rules).Contents))
	l.Turn(sessiontest.Say("2"))
	r := filtered(t, l, rules)
	require.Equal(t, []string{`[3 bytes left out; load_artifact "event:2" shows them]`, "new"}, outputs(r.Contents))
	require.Equal(t, []string{"e2"}, traceOf(t, &r, "drop_after").Events)
}
