package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
)

func TestWordsThatPeopleTryNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := &cli.Globals{Out: &out, Err: &out}
	root := newRoot(g)
	for word, does := range instead {
		found, rest, err := root.Find([]string{word})
		require.True(t, err != nil || found == root, "%s is a command: %v", word, rest)
		if word != "pr" {
			require.Regexp(t, g.Called, does, word)
		}
	}
}

func TestEveryCommandHasAGroup(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(&cli.Globals{Out: &out, Err: &out})
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		require.True(t, c.GroupID != "" || c.IsAdditionalHelpTopicCommand(), c.Name())
	}
}

func TestFlagsOfAGroupExist(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(&cli.Globals{Out: &out, Err: &out})
	for _, use := range runs.FlagGroups {
		for _, name := range use.Flags {
			found := false
			for _, c := range root.Commands() {
				found = found || c.Flags().Lookup(name) != nil
			}
			require.True(t, found, name)
		}
	}
}
