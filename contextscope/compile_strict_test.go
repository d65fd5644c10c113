package contextscope

import (
	"encoding/json"
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"google.golang.org/genai"
	"pgregory.net/rapid"
)

// drawSession draws a session of several authors in which anything can be broken.
func drawSession(t *rapid.T) sessionFile {
	file := sessionFile{
		Agent: "me", Strict: true,
		Narrative:       rapid.SampledFrom([]string{"", NarrativePlain, NarrativeFenced}).Draw(t, "narrative"),
		IncludeContents: rapid.SampledFrom([]string{"", string(spec.IncludeNone)}).Draw(t, "include"),
	}
	for _, e := range drawEvents(t, "me") {
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
		checkRequest(t, contents)
		lines := 0
		for _, line := range trace {
			if line.Processor == "contents" {
				lines++
			}
		}
		require.Equal(t, len(contents), lines)
		introductions := 0
		for _, c := range contents {
			require.False(t, empty(c))
			for _, p := range c.Parts {
				if p.Text == fenceIntroduction {
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
