package artifacts

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

// saver keeps what it is given, the newest of each name.
type saver map[string]string

func (s saver) Put(_ context.Context, name string, data []byte) (string, error) {
	if name == "down" {
		return "", errors.New("the bus is down")
	}
	s[name] = string(data)
	return "artifact:t/1/" + name + "@1#aaaaaaaa", nil
}

func saving(t *testing.T, kept saver, saved ...contextscope.Listed) *tooltest.Bench {
	t.Helper()
	file := func(path string, most int64) ([]byte, error) {
		if path != "a.txt" {
			return nil, fmt.Errorf("%s does not exist", path)
		}
		return []byte(strings.Repeat("x", int(min(most, 7)))), nil
	}
	return (&tooltest.Bench{T: t}).Use(Tools(Config{
		Saver: kept, File: file, Saved: func() []contextscope.Listed { return saved },
	})...)
}

func TestSaveArtifactKeepsATextOrAFileUnderAName(t *testing.T) {
	t.Parallel()
	kept := saver{}
	b := saving(t, kept)
	r := b.Run(spec.ToolSaveArtifact, tooltest.Args{"name": "survey/report.md", "content": "# all of it\n"})
	require.Equal(t, map[string]any{"output": "saved as artifact:t/1/survey/report.md@1#aaaaaaaa; your result names it"}, r.Output)
	require.Equal(t, []contextscope.Listed{{
		Handle: "artifact:t/1/survey/report.md@1#aaaaaaaa", What: "survey/report.md", Bytes: 12, Name: "survey/report.md",
	}}, r.Kept)
	b.OK(spec.ToolSaveArtifact, tooltest.Args{"name": "list", "path": "a.txt"})
	require.Equal(t, saver{"survey/report.md": "# all of it\n", "list": "xxxxxxx"}, kept)
}

func TestWhatCannotBeSavedIsSaidInWords(t *testing.T) {
	t.Parallel()
	kept := saver{}
	var full []contextscope.Listed
	for i := range maxSavedNames {
		full = append(full, contextscope.Listed{Name: fmt.Sprintf("n%d", i)})
	}
	b := saving(t, kept, full...)
	for want, a := range map[string]tooltest.Args{
		`the name "../x" must be at most 200 bytes of letters`: {"name": "../x", "content": "c"},
		`the name "" must be`:                {"name": "", "content": "c"},
		"run_command is the name of a tool":  {"name": "run_command", "content": "c"},
		"either content or the path":         {"name": "n1"},
		"give either content or":             {"name": "n1", "content": "c", "path": "a.txt"},
		"n1 has 0 bytes":                     {"name": "n1", "content": ""},
		"has 1048577 bytes, and an artifact": {"name": "n1", "content": strings.Repeat("x", 1<<20+1)},
		"no.txt does not exist":              {"name": "n1", "path": "no.txt"},
		"you have saved 50 artifacts: save":  {"name": "n50", "content": "c"},
	} {
		said := b.Fails(spec.ToolSaveArtifact, a)
		require.Contains(t, said, want)
		require.Contains(t, said, "nothing was saved")
	}
	require.Empty(t, kept)
	b.OK(spec.ToolSaveArtifact, tooltest.Args{"name": "n49", "content": "c"})
	require.Contains(t, saving(t, kept).Fails(spec.ToolSaveArtifact, tooltest.Args{"name": "down", "content": "c"}), "the bus is down")
	none := (&tooltest.Bench{T: t}).Use(Tools(Config{})...)
	require.Contains(t, none.Fails(spec.ToolSaveArtifact, tooltest.Args{"name": "n", "content": "c"}), "nothing of the kind is kept here")
}

func TestASavedNameIsReplacedByTheNextOfTheSame(t *testing.T) {
	t.Parallel()
	first := contextscope.Saved(nil, contextscope.Listed{Name: "a", Handle: "1"}, contextscope.Listed{Handle: "output"},
		contextscope.Listed{Name: "b", Handle: "2"})
	second := contextscope.Saved(first, contextscope.Listed{Name: "a", Handle: "3"})
	require.Equal(t, []contextscope.Listed{{Name: "a", Handle: "1"}, {Name: "b", Handle: "2"}}, first)
	require.Equal(t, []contextscope.Listed{{Name: "b", Handle: "2"}, {Name: "a", Handle: "3"}}, second)
}
