package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
)

func TestHelpOfEveryCommandListsExitCodesAndAnExample(t *testing.T) {
	t.Parallel()
	var out, errOut bytes.Buffer
	root := newRoot(&cli.Globals{Out: &out, Err: &errOut})
	seen := 0
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		for _, sub := range c.Commands() {
			walk(sub)
		}
		if c == root || c.IsAdditionalHelpTopicCommand() {
			return
		}
		seen++
		out.Reset()
		require.NoError(t, c.Help())
		for _, want := range []string{"Exit codes:\n  0  ", "\n  2  ", "Examples:\n  ", c.CommandPath()} {
			require.Contains(t, out.String(), want, c.CommandPath())
		}
		require.Contains(t, c.Example, "divisi "+strings.TrimPrefix(c.CommandPath(), "divisi "), c.CommandPath())
		require.NotEmpty(t, c.Short)
		for line := range strings.Lines(c.Long) {
			require.LessOrEqual(t, len([]rune(line)), 130, line)
		}
	}
	walk(root)
	require.Greater(t, seen, 12)
	require.Empty(t, errOut.String())
}

func TestTheFirstScreenFitsATerminal(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(&cli.Globals{Out: &out, Err: &out})
	require.NoError(t, root.Help())
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.LessOrEqual(t, len(lines), 30)
	listed := 0
	for _, line := range lines {
		require.LessOrEqual(t, len(line), 80, line)
		if strings.HasPrefix(line, "  ") {
			listed++
		}
	}
	require.Len(t, weekOne, listed)
	require.LessOrEqual(t, listed, 14)
}
