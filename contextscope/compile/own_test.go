package compile

import (
	"testing"

	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestOwnTurnsLeaveOutWhatInterfacesRefuse(t *testing.T) {
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
