package compile

import (
	"testing"

	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestHealLeavesOutWhatInterfacesRefuse(t *testing.T) {
	t.Parallel()
	l := (&sessiontest.Log{Agent: "gen/1"}).Turn(sessiontest.Think("signed")).Turn(&genai.Part{Text: "plain", Thought: true}).
		Turn(&genai.Part{}, sessiontest.Say("said"), sessiontest.Result("x", "read", "no turn has results")).Turn().
		User("go").Turn(&genai.Part{ThoughtSignature: []byte("s")})
	r := compiled(t, l)
	require.Len(t, r.Contents, 4)
	require.Equal(t, []string{"said"}, sessiontest.Texts(r.Contents[1].Parts))
	require.Len(t, r.Contents[3].Parts, 1, "a signature alone is sent back")
	require.Equal(t, []string{
		"event e1: turn was left out: nothing but thoughts in it",
		"event e2: turn was left out: nothing in it that a model can see",
		"event e3: 2 parts were left out: empty, or not of role model",
		"event e4: turn was left out: nothing in it that a model can see",
	}, traceOf(t, &r, "history").Notes)
}

func TestHealReplacesInvalidUTF8(t *testing.T) {
	t.Parallel()
	broken := sessiontest.Result("a", "read", "caf\xe9")
	broken.FunctionResponse.Response["list"] = []any{"ok", map[string]any{"k\xff": "v"}}
	odd := sessiontest.Call("a", "read")
	odd.FunctionCall.Args["path"] = "\xfe"
	l := (&sessiontest.Log{Agent: "gen/1"}).User("a\xffb").Turn(odd).Tool(broken).
		Turn(&genai.Part{CodeExecutionResult: &genai.CodeExecutionResult{Output: "\xc0"}})
	r := compiled(t, l)
	require.Equal(t, "a\uFFFDb", r.Contents[0].Parts[1].Text)
	require.Equal(t, "\uFFFD", r.Contents[1].Parts[0].FunctionCall.Args["path"])
	require.Equal(t, map[string]any{"output": "caf\uFFFD", "list": []any{"ok", map[string]any{"k\uFFFD": "v"}}},
		r.Contents[2].Parts[0].FunctionResponse.Response)
	require.Equal(t, "\uFFFD", r.Contents[3].Parts[0].CodeExecutionResult.Output)
	require.Len(t, traceOf(t, &r, "history").Notes, 4)
	require.Equal(t, "event e1: invalid UTF-8 was replaced", traceOf(t, &r, "history").Notes[0])
	require.Equal(t, "caf\xe9", broken.FunctionResponse.Response["output"], "the event stays as it is")
	require.Equal(t, "\xfe", odd.FunctionCall.Args["path"])
	require.Equal(t, "a\xffb", l.Events[0].Content.Parts[0].Text)
}
