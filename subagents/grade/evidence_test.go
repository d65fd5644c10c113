package grade

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A list counts that is as new as the gate, and that no patch brings.
func TestListsOfCompilers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	write("build/a.d", "a.o: ../a.c \\\n  inc/a\\ b.h\n")
	write("forged.d", "c.o: c.c\n")
	write("old.d", "d.o: d.c\n")
	began := time.Now()
	old := began.Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(dir, "old.d"), old, old))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	defer root.Close()
	var files []File
	for _, name := range []string{"a.c", "c.c", "d.c", "forged.d", "inc/a b.h"} {
		files = append(files, kindOf(name))
	}
	require.Equal(t, map[string]bool{"a.c": true, "inc/a b.h": true}, evidenceOf(root, "/seen", files, began).compiled)
}
