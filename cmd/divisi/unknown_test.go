package main

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWordsThatPeopleTryNameCommandsThatExist(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := &globals{out: &out, err: &out}
	root := newRoot(g)
	for word, does := range instead {
		found, rest, err := root.Find([]string{word})
		require.True(t, err != nil || found == root, "%s is a command: %v", word, rest)
		if word != "pr" {
			require.Regexp(t, g.called, does, word)
		}
	}
}

func TestEveryCommandHasAGroup(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(&globals{out: &out, err: &out})
	root.InitDefaultHelpCmd()
	for _, c := range root.Commands() {
		require.True(t, c.GroupID != "" || c.IsAdditionalHelpTopicCommand(), c.Name())
	}
}

func TestFlagsOfAGroupExist(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	root := newRoot(&globals{out: &out, err: &out})
	for _, use := range uses {
		for _, name := range use.flags {
			found := false
			for _, c := range root.Commands() {
				found = found || c.Flags().Lookup(name) != nil
			}
			require.True(t, found, name)
		}
	}
}
