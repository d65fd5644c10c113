package command

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/model"
)

// What a service says of a refusal reaches the log and the terminal, and has no secret in it.
func TestARefusalTellsNoSecret(t *testing.T) {
	t.Parallel()
	s := &service{c: &Executor{Secrets: Secrets{"A_KEY=sk-of-a-person"}}}
	s.refuse(&model.Error{Class: model.RateLimited, Message: "the quota of sk-of-a-person is used up"})
	require.Equal(t, "the quota of [A_KEY] is used up", s.outside().Message)
	require.Equal(t, "; the quota of [A_KEY] is used up", s.denied())
}
