package command

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/limit"
)

func TestAFaultNamesTheHostsThatTheProxyRefused(t *testing.T) {
	t.Parallel()
	if sandbox.Probe().HostNetwork() {
		t.Skip("without namespaces there is no proxy")
	}
	const ask = `python3 -c 'import urllib.request; urllib.request.urlopen("http://telemetry.example/")' 2>/dev/null; echo asked; `
	for ends, status := range map[string]spec.Status{"exit 3": spec.StatusFailed, "sleep 60": spec.StatusTimedOut} {
		a := testAssignment()
		a.Role = spec.Role{
			Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", ask + ends}, Network: true, Hosts: []string{"api.example"},
		}
		dir := t.TempDir()
		ctx, end := context.WithCancelCause(t.Context())
		c := &Executor{
			Assignment: a, Dir: dir, Env: []string{"PATH=/usr/bin:/bin"}, Bounds: limit.Bounds{Time: time.Minute},
			Place: sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()},
			Doing: func(what string) {
				if what == "asked" && status == spec.StatusTimedOut {
					end(limit.ErrTime)
				}
			},
		}
		r, err := c.Run(ctx)
		require.NoError(t, err)
		require.Equal(t, status, r.Status)
		require.Contains(t, r.Error.Message,
			"; Divisi refuses telemetry.example: it is not among the hosts that the role of this command names", ends)
	}
}
