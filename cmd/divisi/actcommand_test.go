package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/acts"
	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/inspect"
	"divisi/orchestrator/act"
)

// Each act of the table that the command line offers has a command, of its own, made of the table, or as a part of another, whose
// help tells how it is undone.
func TestEachActHasACommand(t *testing.T) {
	t.Parallel()
	root := newRoot(&cli.Globals{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}})
	for _, e := range act.All() {
		c, _, err := root.Find(strings.Fields(e.Called))
		if e.Doors&act.Command == 0 {
			require.True(t, err != nil || c == root, e.Name)
			continue
		}
		require.NoError(t, err, e.Name)
		require.NotSame(t, root, c, e.Name)
		if own := act.Find(e.Called); own == nil || own == e {
			require.Contains(t, c.Long, e.Undone(act.InTerminal))
		}
	}
}

// A command of the table takes the run with its tasks, then the required arguments, and has flags for the others.
func TestCommandsMadeOfTheTable(t *testing.T) {
	t.Parallel()
	a := &acts.Globals{Globals: inspect.Globals{Globals: &cli.Globals{Out: &bytes.Buffer{}, Err: &bytes.Buffer{}}}}
	for name, use := range map[string]string{
		"skip": "skip RUN[/TASK] [TASK...]", "retry": "retry RUN[/TASK] [TASK...]", "pause": "pause [RUN]", "send": "send RUN[/TASK] TEXT",
		"accept": "accept RUN/TASK", "cancel": "cancel RUN[/TASK]", "stop_line": "stop [RUN]", "take_back": "decide RUN DECISION",
	} {
		c := a.NewAct(name)
		require.Equal(t, use, c.Use)
		require.NotEmpty(t, c.Long)
		require.Contains(t, c.Example, "divisi ")
	}
	flags := map[string]string{}
	for _, name := range []string{"retry", "accept"} {
		c := a.NewAct(name)
		require.NoError(t, c.ParseFlags(nil))
		for _, f := range []string{"brief", "forgotten", "attempt", "tasks", "task"} {
			if f := c.Flags().Lookup(f); f != nil {
				flags[f.Name] = f.Value.Type()
			}
		}
	}
	require.Equal(t, map[string]string{"brief": "string", "forgotten": "bool", "attempt": "int"}, flags)
	for name, counts := range map[string][2]int{"pause": {0, 1}, "skip": {1, 99}, "send": {2, 2}, "accept": {1, 1}} {
		c := a.NewAct(name)
		for n := range 4 {
			err := fits(c, make([]string, n))
			require.Equal(t, n >= counts[0] && n <= counts[1], err == nil, "%s %d", name, n)
		}
	}
}
