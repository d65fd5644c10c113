package agent

import (
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
)

func TestAnAnswerWithoutAnythingToReadIsEmpty(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"":                                   false,
		" \n\t":                              false,
		"\u200b\u200c\u200d\u2060\ufeff":     false,
		"\u00ad\ufe0f\U000e0100\u3164\u2800": false,
		"\u034f\u202e \x00":                  false,
		"<!-- I think. -->":                  false,
		"<!-- one --> \n<!-- two":            false,
		"// later":                           false,
		"/* later\n   still */\n// and then": false,
		"ok":                                 true,
		".":                                  true,
		"👍\ufe0f":                            true,
		"<!-- one --> two":                   true,
		"// later\nx := 1":                   true,
		"see https://go.dev/ref":             true,
		"été":                                true,
		"完了":                                 true,
	} {
		require.Equal(t, want, substance(&genai.Content{Parts: []*genai.Part{{Text: text}}}), "%q", text)
		called := &genai.Content{Parts: []*genai.Part{{Text: text}, {FunctionCall: &genai.FunctionCall{Name: "f"}}}}
		require.True(t, substance(called), "a call is something to act on")
	}
	require.False(t, substance(nil))
	require.False(t, substance(&genai.Content{Parts: []*genai.Part{{Text: "I think.", Thought: true}}}))
}
