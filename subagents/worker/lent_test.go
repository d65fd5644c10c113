package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/gocache"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// Setup and the gates of the base commit reach the user's build cache, gates of a patch and agents do not.
func TestTheBaseCommitAloneBorrows(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().HostNetwork() {
		t.Skip("this machine has no namespaces")
	}
	lender, err := gocache.Lend(t.Context(), t.TempDir(), t.TempDir())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, lender.Close()) })
	s := newSite(t)
	s.lender = lender.Socket
	s.work(nil, "tester", "coder")
	const reaches, not = `test -S /divisi/go-cache && test -n "$GOCACHEPROG"`, `! test -e /divisi/go-cache && test -z "$GOCACHEPROG"`
	for name, test := range map[string]struct {
		base  bool
		setup string
		gate  string
	}{"--baseline": {true, reaches, reaches}, "--batch": {false, reaches, not}} {
		a := s.assignment(testerRole, name)
		a.Base, a.Setup = test.base, []string{"sh", "-c", test.setup}
		a.Project.Gates = []spec.Gate{{Name: "g", Command: []string{"sh", "-c", test.gate}}}
		s.enqueue(a)
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status, "%s: %+v", name, r.Error)
	}
	agent := s.assignment(spec.Role{Name: "coder", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", not}}, "t1")
	s.enqueue(agent)
	r := s.result(agent)
	require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
}
