package worker

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// What the owner of a machine lets an attempt write bounds its commands.
func TestTheOwnerOfTheMachineBoundsWhatAnAttemptWrites(t *testing.T) {
	t.Parallel()
	if !sandbox.ShowsLayers() {
		t.Skip("nothing bounds it here")
	}
	s := newSite(t)
	s.owner.MaxDisk = 8 << 20
	role := spec.Role{
		Name: "mod", Executor: spec.ExecutorCommand, Writes: true,
		Command: []string{"sh", "-c", "while :; do head -c 1M /dev/zero >> big; sleep 0.05; done"},
	}
	s.work(nil, role.Name)
	a := s.assignment(role, "t1")
	s.enqueue(a)
	r := s.result(a)
	require.Equal(t, spec.StatusFailed, r.Status)
	require.Equal(t, wire.FaultCommand, r.Error.Class)
	require.Regexp(t, `sh was killed: the commands of the attempt have written \d+ MiB to the disk, and may write 8 MiB`, r.Error.Message)
}
