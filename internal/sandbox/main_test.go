package sandbox

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// place is a slot: a tree that a command may write, and a neighbour that it may not.
type place struct {
	tree    string
	outside string
	env     []string
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{tree: t.TempDir(), outside: t.TempDir()}
	env, err := Env(Settings{Base: os.Environ(), Home: p.tree, Temp: p.tree})
	require.NoError(t, err)
	p.env = env
	return p
}

func (p place) shell(script string) Command {
	return Command{Args: []string{"sh", "-c", script}, Dir: p.tree, Env: p.env, Writable: []string{p.tree}}
}

func (p place) run(t *testing.T, c Command) *Output {
	t.Helper()
	out, err := Run(t.Context(), c)
	require.NoError(t, err)
	return out
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
