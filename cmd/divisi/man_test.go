package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// The manual pages keep what is in angle brackets.
func TestManualPages(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("long: it links the program with the tag man")
	}
	dir := t.TempDir()
	out, err := exec.CommandContext(t.Context(), "go", "run", "-trimpath", "-tags", "man", ".", dir, "0").CombinedOutput()
	require.NoError(t, err, string(out))
	for _, name := range []string{"divisi", "divisi-run", "divisi-publish"} {
		page, err := os.ReadFile(filepath.Join(dir, "man/man1", name+".1"))
		require.NoError(t, err)
		require.Contains(t, string(page), "divisi/<run>", name)
	}
}
