package gate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

// publicReceipt returns the receipt of an output of a public project: an archive whose comment is the output, and whose files are
// the command, a word in each line, and those of the tree that the output names, without their text.
func publicReceipt(t *testing.T, archive *txtar.Archive) spec.Receipt {
	t.Helper()
	g := spec.Gate{Name: "g"}
	where := Where{Dir: t.TempDir()}
	for _, f := range archive.Files {
		switch f.Name {
		case "command":
			g.Command = strings.Split(strings.TrimSpace(string(f.Data)), "\n")
		case "first":
		default:
			name := filepath.Join(where.Dir, f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, f.Data, 0o600))
		}
	}
	names := newNormaliser("/tmp/fx")
	lines := newLines(newParser(formatOf(g), names, knownTool(g.Command)))
	lines.write(archive.Comment)
	require.NoError(t, readReport(lines.to, g.Command, &where, time.Time{}))
	found := lines.close()
	r := spec.Receipt{Gate: "g", Command: g.Command}
	fill(&r, &g, &sandbox.Output{ExitCode: 1}, found)
	if r.Tail == "" {
		r.Tail = text.End(strings.TrimRight(plain(string(archive.Comment)), "\n"), maxTail)
	}
	require.NoError(t, hidden(&r, found, &where))
	require.NoError(t, lead(&r, found, names, &where))
	return r
}

// What a person sees first of a mistake that was planted into a public project is the mistake.
func TestFirstOfPublicOutputs(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/public/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	for _, file := range list {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			got := Reason(publicReceipt(t, archive), nil)
			first := &archive.Files[len(archive.Files)-1]
			require.Equal(t, "first", first.Name)
			if *update {
				first.Data = []byte(got + "\n")
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o600))
			}
			require.Equal(t, strings.TrimSpace(string(first.Data)), got)
		})
	}
}
