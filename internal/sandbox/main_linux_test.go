package sandbox

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if attack := os.Getenv(attackVar); attack != "" {
		os.Exit(carryOut(attack)) //nolint:forbidigo // this process is a command in the sandbox
	}
	goleak.VerifyTestMain(m)
}

// without is a level that lacks some layers.
func (l Level) without(names ...string) Level {
	l.layers = l.Protections()
	for i := range l.layers {
		if slices.Contains(names, l.layers[i].Name) {
			l.layers[i].Have, l.layers[i].Why = false, "the test takes it away"
		}
	}
	return l
}

// The rungs of the ladder that this machine can stand on. "shared user" is for root alone: its files are hidden, not another's.
const (
	full       = "full"
	sharedUser = "shared user"
	oneWorld   = "no namespaces"
	noFilter   = "Landlock alone"
	nothing    = "nothing"
)

func rungs() map[string]Level {
	l := Probe()
	list := map[string]Level{nothing: l.without(Namespaces, Landlock, Seccomp, OwnUser)}
	if l.have(Namespaces) {
		list[full] = l
		if l.ownUser() {
			list[sharedUser] = l.without(OwnUser)
		}
	}
	if l.have(Landlock) {
		list[noFilter] = l.without(Namespaces, Seccomp, OwnUser)
		if l.have(Seccomp) {
			list[oneWorld] = l.without(Namespaces, OwnUser)
		}
	}
	return list
}

// onRungs runs a test on those rungs of the named ones that there are; on all where none is named.
func onRungs(t *testing.T, test func(t *testing.T, p place), names ...string) {
	t.Helper()
	for name, level := range rungs() {
		if len(names) > 0 && !slices.Contains(names, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			p.level = level
			test(t, p)
		})
	}
}

// place is a slot: a tree that a command may write, and a neighbour that it may not.
type place struct {
	level   Level
	tree    string
	outside string
	env     []string
	// ahead, where there is one, has each command executed by a stage that was started ahead.
	ahead *Ahead
}

func newPlace(t *testing.T) place {
	t.Helper()
	p := place{level: Probe(), tree: t.TempDir(), outside: t.TempDir()}
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
	if p.ahead != nil {
		c.Place.Ahead = p.ahead
		p.startAhead(t, c.Place.Keeper)
	}
	out, err := p.level.run(t.Context(), c)
	require.NoError(t, err)
	return out
}

func lines(text string) []string { return strings.Split(strings.TrimSpace(text), "\n") }
