package contextscope

import (
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func filtered(t *testing.T, l *log, rules spec.ContextRules) Request {
	t.Helper()
	r := NewCompiler().Compile(Input{Agent: l.agent, Role: spec.Role{Context: rules}, Events: l.events})
	checkRequest(t, r.Contents)
	return r
}

func outputs(contents []*genai.Content) []string {
	var out []string
	for _, c := range contents {
		eachResponse(c, func(fr *genai.FunctionResponse) {
			text, _ := fr.Response["output"].(string)
			out = append(out, text)
		})
	}
	return out
}

func TestLastKeepsTheNewestTurns(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).user("go").turn(call("a", "read")).tool(result("a", "read", "1")).steer("use tabs").
		turn(think("hm")).turn(call("b", "read")).tool(result("b", "read", "2")).user("more").turn(say("three"))
	r := filtered(t, l, spec.ContextRules{Last: 1})
	require.Equal(t, []string{"use tabs", "more"}, texts(r.Contents[0].Parts), "steering stays, and what led to the turn")
	require.Len(t, r.Contents, 2)
	require.Equal(t, "the newest 1 turns; 2 older ones are left out, steering stays", traceOf(t, &r, "last").What)
	require.Len(t, filtered(t, l, spec.ContextRules{Last: 2}).Contents, 4)
	require.Equal(t, []string{"use tabs"}, texts(filtered(t, l, spec.ContextRules{Last: 2}).Contents[0].Parts))
	require.Equal(t, []string{"go"}, texts(filtered(t, l, spec.ContextRules{Last: 3}).Contents[0].Parts),
		"a turn of thoughts alone is none")
}

func TestDropToolsWaitsForATurn(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "grep"), call("b", "read")).tool(result("a", "grep", "hits"), result("b", "read", "text"))
	rules := spec.ContextRules{DropTools: []string{"grep"}}
	require.Equal(t, []string{"hits", "text"}, outputs(filtered(t, l, rules).Contents))
	r := filtered(t, l.turn(say("seen")), rules)
	mask := `[4 bytes left out; load_artifact "event:2" shows them]`
	require.Equal(t, []string{mask, "text"}, outputs(r.Contents))
	require.Equal(t, []string{"e2"}, traceOf(t, &r, "drop_tools").Events)

	late := (&log{agent: "gen/1"}).turn(call("a", "grep")).turn(say("x")).turn(say("y")).tool(result("a", "grep", "late"))
	require.Equal(t, []string{"late"}, outputs(filtered(t, late, rules).Contents), "no turn has seen it yet")
	late.turn(say("z"))
	require.Equal(t, []string{`[4 bytes left out; load_artifact "event:4" shows them]`}, outputs(filtered(t, late, rules).Contents))
}

func TestDropToolsCountsFromTheNewestResult(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "grep"), call("b", "grep")).tool(result("a", "grep", "1")).turn(say("x")).
		tool(result("b", "grep", "2"))
	rules := spec.ContextRules{DropTools: []string{"grep"}}
	require.Equal(t, []string{"1", "2"}, outputs(filtered(t, l, rules).Contents))
}

func TestDropAfterCountsTurns(t *testing.T) {
	t.Parallel()
	l := (&log{agent: "gen/1"}).turn(call("a", "read")).tool(result("a", "read", "old")).turn(call("b", "read")).
		tool(result("b", "read", "new")).turn(say("1"))
	rules := spec.ContextRules{DropAfter: 2}
	require.Equal(t, []string{"old", "new"}, outputs(filtered(t, l, rules).Contents))
	l.turn(say("2"))
	r := filtered(t, l, rules)
	require.Equal(t, []string{`[3 bytes left out; load_artifact "event:2" shows them]`, "new"}, outputs(r.Contents))
	require.Equal(t, []string{"e2"}, traceOf(t, &r, "drop_after").Events)
}
