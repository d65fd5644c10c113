//go:build unix

package memory

import (
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func TestAPipeIsNeverWaitedFor(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"a.md": "apple"})
	require.NoError(t, unix.Mkfifo(p.file("pipe.md"), 0o600))
	m := p.open(".divisi/memory/pipe.md: it is not a regular file")
	require.NoError(t, p.accept(m, Note{Title: "Pipe", Text: "b"}))
	require.FileExists(t, p.file("pipe-2.md"))
}
