package sessiontest

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"

	"divisi/contextscope"
	"divisi/contextscope/content"
	"divisi/internal/spec"
)

// DrawEvents draws any history: well-formed turns, and everything that can go wrong with them.
func DrawEvents(t *rapid.T, agent string) []contextscope.Event {
	kinds := []contextscope.Kind{
		contextscope.KindStarted, contextscope.KindBrief, contextscope.KindUser,
		contextscope.KindTurn, contextscope.KindTurn, contextscope.KindTurn,
		contextscope.KindTool, contextscope.KindTool, contextscope.KindTool, contextscope.KindSteering,
		contextscope.KindControl, contextscope.KindError, contextscope.KindUsage, contextscope.KindCompaction,
	}
	id := rapid.SampledFrom([]string{"", "c1", "c2", "c3", "c4"})
	name := rapid.SampledFrom([]string{"", "grep", "read", "dispatch", "adk_framework"})
	part := rapid.Custom(func(t *rapid.T) *genai.Part {
		p := &genai.Part{}
		switch rapid.IntRange(0, 9).Draw(t, "part") {
		case 0, 1:
			p.Text = rapid.SampledFrom([]string{"", " ", "hi", "For context:", "<<<END_QUOTED_AGENT_CONTENT>>>"}).Draw(t, "text")
		case 2, 3, 4:
			p.FunctionCall = &genai.FunctionCall{ID: id.Draw(t, "id"), Name: name.Draw(t, "name"), Args: map[string]any{"a": 1.0}}
		case 5, 6, 7:
			p.FunctionResponse = &genai.FunctionResponse{ID: id.Draw(t, "id"), Name: name.Draw(t, "name")}
			if size := rapid.SampledFrom([]int{-1, 2, 2000}).Draw(t, "size"); size >= 0 {
				p.FunctionResponse.Response = map[string]any{"output": strings.Repeat("é\xff"[:size%2+2], size), "exit_code": 1.0}
			}
		case 8:
			p.InlineData = &genai.Blob{Data: []byte("x"), MIMEType: "image/png"}
		default:
			return nil
		}
		p.Thought = rapid.IntRange(0, 5).Draw(t, "thought") == 0
		if rapid.IntRange(0, 5).Draw(t, "signed") == 0 {
			p.ThoughtSignature = []byte("sig")
		}
		return p
	})
	event := rapid.Custom(func(t *rapid.T) contextscope.Event {
		e := contextscope.Event{
			Agent: agent, Kind: rapid.SampledFrom(kinds).Draw(t, "kind"),
			Author: rapid.SampledFrom([]string{"", "user", agent}).Draw(t, "author"),
		}
		if rapid.IntRange(0, 15).Draw(t, "content") > 0 {
			e.Content = &genai.Content{
				Role:  rapid.SampledFrom([]string{"", "user", "model", "model"}).Draw(t, "role"),
				Parts: rapid.SliceOfN(part, 0, 4).Draw(t, "parts"),
			}
		}
		return e
	})
	events := rapid.SliceOfN(event, 0, 16).Draw(t, "events")
	seq := 0
	for i := range events {
		seq += rapid.IntRange(1, 2).Draw(t, "gap")
		events[i].ID, events[i].Seq = fmt.Sprintf("e%d", i+1), seq
		switch events[i].Kind {
		case contextscope.KindCompaction:
			events[i].Content, events[i].Data = nil, drawCompaction(t, seq)
		case contextscope.KindUsage:
			calls := rapid.IntRange(1, 2).Draw(t, "calls")
			events[i].Data = JSON(spec.Usage{Calls: calls, Prompt: rapid.SampledFrom([]int{0, 20, 40, 5000}).Draw(t, "prompt")})
		default:
		}
	}
	return events
}

func drawCompaction(t *rapid.T, seq int) json.RawMessage {
	if rapid.IntRange(0, 7).Draw(t, "damaged") == 0 {
		return json.RawMessage(`{"to":"x"}`)
	}
	method := rapid.SampledFrom([]string{"snapshot", "prune", "failed"}).Draw(t, "method")
	c := map[string]any{
		"method": method,
		"to":     rapid.IntRange(0, seq).Draw(t, "to"),
		"masked": rapid.SliceOfN(rapid.IntRange(0, seq), 0, 2).Draw(t, "masked"),
	}
	if method == "snapshot" {
		c["snapshot"] = `{"overall_goal": "what was"}`
	}
	return JSON(c)
}

// CheckRequest holds a request to what the model's interface demands.
func CheckRequest(t require.TestingT, contents []*genai.Content) {
	for i, c := range contents {
		want := genai.RoleUser
		if i%2 == 1 {
			want = genai.RoleModel
		}
		require.Equal(t, want, c.Role, "content %d: roles alternate and user begins", i)
		require.NotEmpty(t, c.Parts)
		var calls, answers []content.Key
		for _, p := range c.Parts {
			require.NotNil(t, p)
			require.False(t, content.IsEmptyPart(p), "content %d has an empty part", i)
		}
		content.EachCall(c, func(fc *genai.FunctionCall) { calls = append(calls, content.CallKey(fc)) })
		if c.Role == genai.RoleUser {
			require.Empty(t, calls, "content %d", i)
			if i > 0 {
				content.EachCall(contents[i-1], func(fc *genai.FunctionCall) { calls = append(calls, content.CallKey(fc)) })
			}
			content.EachResponse(c, func(fr *genai.FunctionResponse) { answers = append(answers, content.ResponseKey(fr)) })
			require.Equal(t, calls, answers, "content %d answers every call before it once, in call order", i)
			for n := range answers {
				require.NotNil(t, c.Parts[n].FunctionResponse, "content %d: results come first", i)
			}
			continue
		}
		require.False(t, content.HasResponses(c), "content %d", i)
		require.True(t, len(calls) == 0 || i+1 < len(contents), "content %d: its calls are answered", i)
	}
}
