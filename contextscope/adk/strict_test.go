package adk

import (
	"encoding/json"
	"slices"
	"testing"

	"divisi/contextscope/content"
	"divisi/contextscope/narrative"
	"divisi/internal/spec"
	"divisi/internal/testkit/sessiontest"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// drawSession draws a session of several authors in which anything can be broken.
func drawSession(t *rapid.T) sessionFile {
	file := sessionFile{
		Agent: "me", Strict: true,
		Narrative:       rapid.SampledFrom([]string{"", narrative.Plain, narrative.Fenced}).Draw(t, "narrative"),
		IncludeContents: rapid.SampledFrom([]string{"", string(spec.IncludeNone)}).Draw(t, "include"),
	}
	for _, e := range sessiontest.DrawEvents(t, "me") {
		se := sessionEvent{
			Author: rapid.SampledFrom([]string{"me", "me", "user", "other"}).Draw(t, "author"),
			Role:   rapid.SampledFrom([]string{"", "", genai.RoleUser, genai.RoleModel}).Draw(t, "role"),
		}
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				if p != nil {
					se.Parts = append(se.Parts, p)
				}
			}
		}
		file.Events = append(file.Events, se)
	}
	return file
}

func TestStrictSessionsAreWhatTheInterfaceTakes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		file := drawSession(t)
		before, err := json.Marshal(file)
		require.NoError(t, err)
		contents, trace := file.compile()
		require.NotEmpty(t, contents)
		sessiontest.CheckRequest(t, contents)
		lines := 0
		for _, line := range trace {
			if line.Processor == "contents" {
				lines++
			}
		}
		require.Equal(t, len(contents), lines)
		introductions := 0
		for _, c := range contents {
			require.False(t, content.Empty(c))
			for _, p := range c.Parts {
				if p.Text == narrative.Introduction {
					introductions++
				}
			}
		}
		require.LessOrEqual(t, introductions, 1)
		after, err := json.Marshal(file)
		require.NoError(t, err)
		require.Equal(t, string(before), string(after), "the session is not touched")
		again, _ := file.compile()
		require.Equal(t, contents, again)
	})
}

// The same histories, given as a session: they keep ADK's shape, and still every own call is answered.
func TestCompileSessionProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var file sessionFile
		file.Agent, file.IncludeContents = "coder", rapid.SampledFrom([]string{"none", "full"}).Draw(t, "include")
		for _, e := range sessiontest.DrawEvents(t, "coder") {
			if e.Content != nil {
				author := rapid.SampledFrom([]string{"coder", "user", "reader"}).Draw(t, "author")
				parts := slices.DeleteFunc(slices.Clone(e.Content.Parts), func(p *genai.Part) bool { return p == nil })
				file.Events = append(file.Events, sessionEvent{Author: author, Role: e.Content.Role, Parts: parts})
			}
		}
		data, err := json.Marshal(file)
		require.NoError(t, err)
		contents, _, err := Compile(data)
		require.NoError(t, err)
		for i, c := range contents {
			require.NotEmpty(t, c.Parts)
			missing := map[content.Key]int{}
			content.EachCall(c, func(fc *genai.FunctionCall) { missing[content.CallKey(fc)]++ })
			if len(missing) == 0 {
				continue
			}
			require.Less(t, i+1, len(contents))
			content.EachResponse(contents[i+1], func(fr *genai.FunctionResponse) { missing[content.ResponseKey(fr)]-- })
			for k, n := range missing {
				require.LessOrEqual(t, n, 0, "content %d: %s is not answered", i, k)
			}
		}
	})
}
