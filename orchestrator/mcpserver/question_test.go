package mcpserver

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/stretchr/testify/require"
)

// before is a version of the protocol in which a server asks within the call.
const before = "2025-11-25"

// unagreed is a server whose start needs a person's yes, and how often they gave it.
func unagreed(p *place) (s *Server, agreed *int) {
	agreed = new(int)
	s = newServer(p, true)
	begin := s.opts.Start
	s.opts.Start = func(ctx context.Context, w Work) (string, error) {
		if *agreed > 0 {
			return begin(ctx, w)
		}
		return "", &QuestionError{Err: errors.New("agree by trust"), Text: "May it?\n\n    \x1b[31mrm\n", Agree: func() error {
			*agreed++
			return nil
		}}
	}
	return s, agreed
}

// says is a client whose person gives an answer.
func says(r *sdk.ElicitResult, err error) *sdk.ClientOptions {
	return &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) { return r, err }}
}

func accepts(answer any) *sdk.ElicitResult {
	return &sdk.ElicitResult{Action: "accept", Content: map[string]any{theAnswer: answer}}
}

func TestAPersonAnswersByTheClientsForm(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		o    *sdk.ClientOptions
		want string
	}{
		"yes":      {says(accepts("yes"), nil), ""},
		"no":       {says(accepts("no"), nil), "the person said no, and nothing was started. agree by trust"},
		"declined": {says(&sdk.ElicitResult{Action: "decline"}, nil), "the person said no"},
		"closed":   {says(&sdk.ElicitResult{Action: "cancel"}, nil), "the person closed the question, and nothing was started. agree by trust"},
		"no form":  {nil, "agree by trust (worded)"},
		"only addresses": {&sdk.ClientOptions{Capabilities: &sdk.ClientCapabilities{
			Elicitation: &sdk.ElicitationCapabilities{URL: &sdk.URLElicitationCapabilities{}},
		}, ElicitationHandler: says(accepts("yes"), nil).ElicitationHandler}, "agree by trust (worded)"},
	} {
		for _, version := range []string{before, answersByCall} {
			t.Run(name+" "+version, func(t *testing.T) {
				t.Parallel()
				p := newPlace()
				s, agreed := unagreed(p)
				said, refused := call(t, joined(t, s, version, c.o), "start", work{Goal: "Greet."})
				if c.want == "" {
					require.False(t, refused, said)
					require.Equal(t, 1, *agreed)
					require.Len(t, p.works, 1)
					return
				}
				require.True(t, refused)
				require.Contains(t, said, c.want)
				require.Zero(t, *agreed)
				require.Empty(t, p.works)
			})
		}
	}
}

func TestAClientThatFailsToAskStartsNothing(t *testing.T) {
	t.Parallel()
	p := newPlace()
	s, agreed := unagreed(p)
	said, refused := call(t, joined(t, s, before, says(nil, errors.New("no window"))), "start", work{Goal: "Greet."})
	require.True(t, refused)
	require.Contains(t, said, "the client did not ask the person")
	require.Contains(t, said, "no window")
	require.Zero(t, *agreed)
}

func refusal(t *testing.T, r *sdk.CallToolResult) string {
	t.Helper()
	require.True(t, r.IsError)
	text, is := r.Content[0].(*sdk.TextContent)
	require.True(t, is)
	return text.Text
}

func TestAnAnswerCountsOnce(t *testing.T) {
	t.Parallel()
	p := newPlace()
	s, agreed := unagreed(p)
	c := joined(t, s, "", &sdk.ClientOptions{
		MultiRoundTrip: &sdk.MultiRoundTripOptions{Disabled: true}, ElicitationHandler: says(nil, nil).ElicitationHandler,
	})
	start := func(state string, answers sdk.InputResponseMap) *sdk.CallToolResult {
		r, err := c.CallTool(t.Context(), &sdk.CallToolParams{
			Name: "start", Arguments: work{Goal: "Greet."}, RequestState: state, InputResponses: answers,
		})
		require.NoError(t, err)
		return r
	}
	answers := sdk.InputResponseMap{theAnswer: accepts("yes")}
	require.Contains(t, refusal(t, start("a guess", answers)), "this answer is too late, or the second")
	require.True(t, start("", answers).NeedsInput(), "an answer without its question is none")

	// The question shows no character that a terminal obeys. An answer that is none, or of another kind, starts nothing.
	asks := start("", nil)
	form, is := asks.InputRequests[theAnswer].(*sdk.ElicitParams)
	require.True(t, is)
	require.Equal(t, "May it?\n\n    \ufffd[31mrm\n", form.Message)
	require.Contains(t, refusal(t, start(asks.RequestState, nil)), "the client gave no answer of the person")
	require.Contains(t, refusal(t, start(asks.RequestState, answers)), "this answer is too late, or the second")
	other := sdk.InputResponseMap{theAnswer: &sdk.ListRootsResult{}} //nolint:staticcheck // an answer of another kind
	require.Contains(t, refusal(t, start(start("", nil).RequestState, other)), "the client gave no answer of the person")
	for _, answer := range []any{true, "YES", "", nil, map[string]any{"answer": "yes"}} {
		r := start(start("", nil).RequestState, sdk.InputResponseMap{theAnswer: accepts(answer)})
		require.Contains(t, refusal(t, r), "the person said no")
	}

	late := start("", nil).RequestState
	s.asked.mu.Lock()
	s.asked.open[late].until = time.Now().Add(-time.Second)
	s.asked.mu.Unlock()
	require.Contains(t, refusal(t, start(late, answers)), "this answer is too late")
	require.Zero(t, *agreed)

	for range 3 * maxAsked { // a client that asks for ever keeps no more
		asks = start("", nil)
	}
	require.LessOrEqual(t, len(s.asked.open), maxAsked)
	require.False(t, start(asks.RequestState, answers).IsError)
	require.Equal(t, 1, *agreed)
	require.Len(t, p.works, 1)
	require.Contains(t, refusal(t, start(asks.RequestState, answers)), "this answer is too late, or the second")
	require.Len(t, p.works, 1)
}

func TestAPersonWhoNeverAnswersIsNotWaitedForForEver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := newPlace()
		s, agreed := unagreed(p)
		o := &sdk.ClientOptions{ElicitationHandler: func(ctx context.Context, _ *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
			<-ctx.Done()
			return nil, ctx.Err()
		}}
		begins := time.Now()
		said, refused := call(t, joined(t, s, before, o), "start", work{Goal: "Greet."})
		require.True(t, refused)
		require.Contains(t, said, "the person did not answer within 5m0s, and nothing was started. agree by trust")
		require.Equal(t, askTime, time.Since(begins))
		require.Zero(t, *agreed)
	})
}
