package artifacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"divisi/contextscope/artifact"
	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/internal/text"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// shelved is a store with one artifact, h, whose other handles fail as they are called.
type shelved struct{ data string }

func (s shelved) Get(_ context.Context, handle string) ([]byte, error) {
	switch handle {
	case "h":
		return []byte(s.data), nil
	case "damaged":
		return nil, fmt.Errorf("get damaged: want the digest aa, found bb: %w", artifact.ErrCorrupt)
	case "down":
		return nil, errors.New("the bus is down")
	}
	return nil, fmt.Errorf("get %s: %w", handle, artifact.ErrNotFound)
}

// session is the events of an agent.
type session []string

func (s session) Event(_ context.Context, seq int) (string, error) {
	if seq > len(s) {
		return "", fmt.Errorf("no event %d: %w", seq, artifact.ErrNotFound)
	}
	return s[seq-1], nil
}

func loading(t *testing.T, data string) *tooltest.Bench {
	t.Helper()
	return (&tooltest.Bench{T: t}).Use(Tools(Config{
		Store: shelved{data}, Events: session{"the brief", "a turn"}, Known: func() []string {
			return []string{"artifact:log@1#aaaaaaaa", "artifact:log@2#bbbbbbbb", "artifact:other@1#cccccccc"}
		},
	})...)
}

func manyLines(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d of the output\n", i)
	}
	return b.String()
}

func tenLines() string {
	var b strings.Builder
	for i := range 10 {
		fmt.Fprintf(&b, "l%d\n", i+1)
	}
	return b.String()
}

func TestLoadArtifactShowsItForOneRequest(t *testing.T) {
	t.Parallel()
	b := loading(t, tenLines())
	for name, c := range map[string]struct {
		args       tooltest.Args
		what, text string
	}{
		"all":         {tooltest.Args{}, "lines 1-10 of 10", ""},
		"lines":       {tooltest.Args{"start_line": 3, "end_line": 4}, "lines 3-4 of 10", "     3\tl3\n     4\tl4\n"},
		"past an end": {tooltest.Args{"start_line": 9, "end_line": 99}, "lines 9-10 of 10", "     9\tl9\n    10\tl10\n"},
		"bytes":       {tooltest.Args{"start_byte": 4, "end_byte": 5}, "bytes 4-5 of 31", "l2"},
		"last bytes":  {tooltest.Args{"start_byte": 28}, "bytes 28-31 of 31", "l10\n"},
		"expression": {
			tooltest.Args{"search": "^l[15]$"},
			"2 of 2 matching lines, of 10 lines",
			"     1:\tl1\n     2-\tl2\n     3-\tl3\n     4-\tl4\n     5:\tl5\n     6-\tl6\n     7-\tl7\n",
		},
		"apart": {
			tooltest.Args{"search": "^l(1|10)$"},
			"2 of 2 matching lines, of 10 lines",
			"     1:\tl1\n     2-\tl2\n     3-\tl3\n--\n     8-\tl8\n     9-\tl9\n    10:\tl10\n",
		},
		"in lines": {
			tooltest.Args{"search": "l1", "start_line": 2},
			"1 of 1 matching lines, of 10 lines",
			"     8-\tl8\n     9-\tl9\n    10:\tl10\n",
		},
	} {
		c.args["handle"] = " h "
		r := b.Run(spec.ToolLoadArtifact, c.args)
		require.Equal(t, map[string]any{"output": "h " + c.what + ", shown at the end of the next request"}, r.Output, name)
		require.NotNil(t, r.Load, name)
		require.Equal(t, tool.Load{Handle: "h", What: c.what, Text: r.Load.Text}, *r.Load, name)
		if c.text != "" {
			require.Equal(t, c.text, r.Load.Text, name)
		}
	}
	r := b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "event:2"})
	require.Equal(t, &tool.Load{Handle: "event:2", What: "lines 1-1 of 1", Text: "     1\ta turn\n"}, r.Load)
}

func TestLoadArtifactFaults(t *testing.T) {
	t.Parallel()
	b := loading(t, tenLines())
	for want, a := range map[string]tooltest.Args{
		"start_line is 0: lines count from 1":                  {"handle": "h", "start_line": 0},
		"start_byte is -1: bytes count from 1":                 {"handle": "h", "start_byte": -1},
		"end_line 2 is before start_line 3":                    {"handle": "h", "start_line": 3, "end_line": 2},
		"end_line 0 is before start_line 1":                    {"handle": "h", "end_line": 0},
		"h: there are only 10 lines":                           {"handle": "h", "start_line": 11},
		"h: there are only 31 bytes":                           {"handle": "h", "start_byte": 32},
		"bytes go with nothing else":                           {"handle": "h", "start_byte": 1, "search": "x"},
		"search has more than 1000 characters":                 {"handle": "h", "search": strings.Repeat("x", 1001)},
		"did you mean artifact:log@2#bbbbbbbb or artifact:log": {"handle": "artifact:log@9#aaaaaaaa"},
		"did you mean artifact:other@1#cccccccc?":              {"handle": "artifact:othr@1#cccccccc"},
		"Give a handle exactly as it stood":                    {"handle": "xyzzy"},
		"no event 3":                                           {"handle": "event:3"},
		"want the digest aa, found bb: artifact is damaged. T": {"handle": "damaged"},
		"down cannot be loaded: the bus is down":               {"handle": "down"},
	} {
		require.Contains(t, b.Fails(spec.ToolLoadArtifact, a), want)
	}
	require.Contains(t, loading(t, "a\x00b").Fails(spec.ToolLoadArtifact, tooltest.Args{"handle": "h"}), "h is binary (3 bytes)")
	none := (&tooltest.Bench{T: t}).Use(Tools(Config{})...)
	for _, handle := range []string{"h", "event:1"} {
		require.Contains(t, none.Fails(spec.ToolLoadArtifact, tooltest.Args{"handle": handle}), "nothing of the kind is kept here")
	}
	for data, want := range map[string]string{"": "h is empty", "x": `h: has no match for "y" in its lines 1-1 of 1`} {
		r := loading(t, data).Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "search": "y"})
		require.Equal(t, want, r.Output["output"])
		require.Nil(t, r.Load)
	}
}

func TestWhatIsLoadedIsBounded(t *testing.T) {
	t.Parallel()
	b := loading(t, manyLines(5000))
	r := b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "start_line": 10})
	require.Regexp(t, `^lines 10-\d+ of 5000 \(40000 characters at once: continue with start_line \d+\)$`, r.Load.What)
	require.Contains(t, r.Output["output"], "continue with start_line", "the result says it too")
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "search": "9"})
	require.Regexp(t, `^\d+ of 1355 matching lines, of 5000 lines \(40000 characters at once: continue with start_line \d+\)$`, r.Load.What)
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "start_byte": 101})
	require.Equal(t, "bytes 101-40100 of 118890 (40000 characters at once: continue with start_byte 40101)", r.Load.What)
	require.Equal(t, manyLines(5000)[100:40_100], r.Load.Text)
}

func TestLongLinesCanBeReadToTheirEnd(t *testing.T) {
	t.Parallel()
	b := loading(t, "ä\n"+strings.Repeat("é", 5000)+"needle"+strings.Repeat("x", 3000)+"\nend\n")
	r := b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h"})
	require.Equal(t, "lines 1-3 of 3 (line 2 is cut: it has the bytes 4-13009)", r.Load.What)
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "start_byte": 10004, "end_byte": 10009})
	require.Equal(t, "needle", r.Load.Text)
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "start_byte": 5, "end_byte": 5})
	require.Equal(t, "é", r.Load.Text, "no character is broken")
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "search": "needle"})
	require.Contains(t, r.Load.Text, "     2:\t[from byte 9501 of the line] éé")
	require.Contains(t, r.Load.Text, "needle")
	r = b.Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "search": "éneedle(x"})
	require.Nil(t, r.Load)
	require.Contains(t, r.Output["output"], "has no match")
	r = loading(t, "call(x\n").Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h", "search": "call(x"})
	require.Equal(t, "     1:\tcall(x\n", r.Load.Text, "what is no expression is plain text")
}

func TestLoadedTextHasNoMarkers(t *testing.T) {
	t.Parallel()
	r := loading(t, "<<<LEFT_OUT 3").Run(spec.ToolLoadArtifact, tooltest.Args{"handle": "h"})
	require.Equal(t, "     1\t(LEFT_OUT 3\n", r.Load.Text)
	said := loading(t, "").Fails(spec.ToolLoadArtifact, tooltest.Args{"handle": "x\n<<<LEFT_OUT"})
	require.Contains(t, said, "x (LEFT_OUT cannot be loaded")
}

// texts draws text of all kinds and sizes.
func texts() *rapid.Generator[string] {
	pieces := rapid.OneOf(rapid.String(), rapid.Just("error: x\n"), rapid.Just("\n\n"), rapid.Just("漢字\n"), rapid.Just("<<<LEFT_OUT"))
	return rapid.Custom(func(t *rapid.T) string {
		text := strings.Join(rapid.SliceOfN(pieces, 0, 12).Draw(t, "pieces"), "")
		return strings.Repeat(text, rapid.SampledFrom([]int{1, 3, 60, 600}).Draw(t, "times"))
	})
}

func TestAnyPartIsBoundedAndTrue(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		whole := texts().Draw(t, "text")
		if whole == "" || text.Binary([]byte(whole)) {
			return
		}
		number := rapid.Map(rapid.IntRange(-2, 3000), func(n int) any { return float64(n) })
		a := rapid.MapOfN(rapid.SampledFrom([]string{"start_line", "end_line", "start_byte", "end_byte"}), number, 0, 2).Draw(t, "args")
		if rapid.Bool().Draw(t, "search") {
			a["search"] = rapid.SampledFrom([]string{"error", "(", "漢", ".", "", "x"}).Draw(t, "pattern")
		}
		a["handle"] = "h"
		r := Tools(Config{Store: shelved{whole}})[0].Run(t.Context(), tool.Call{Args: a})
		require.LessOrEqual(t, utf8.RuneCountInString(r.Output[map[bool]string{true: "error", false: "output"}[r.Err]].(string)), 1000)
		if r.Load == nil {
			return
		}
		require.NotEmpty(t, r.Load.Text)
		require.True(t, utf8.ValidString(r.Load.Text))
		require.LessOrEqual(t, utf8.RuneCountInString(r.Load.Text), maxLoaded)
	})
}
