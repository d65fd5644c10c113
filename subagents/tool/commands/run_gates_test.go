package commands

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"

	"github.com/stretchr/testify/require"
)

func TestRunGates(t *testing.T) {
	t.Parallel()
	gate := func(verdict, tail string, fresh ...string) GateRun {
		return GateRun{Receipt: spec.Receipt{
			Command: []string{"make", "x"}, Verdict: verdict, Tail: tail, ExitCode: 1, Duration: 1500 * time.Millisecond,
		}, New: fresh}
	}
	var many []string
	for i := range maxGateFailures + 3 {
		many = append(many, fmt.Sprintf("test: T%d", i))
	}
	gates := fakeGates{
		"build": {Receipt: spec.Receipt{
			Command: []string{"go", "build"}, Verdict: spec.VerdictPass, Tail: "noise",
			Duration: time.Second,
		}},
		"known": gate(spec.VerdictBaseline, "as ever"), "odd": gate(spec.VerdictUnattributable, ""),
		"test": gate(spec.VerdictFail, "\x1b[31m--- FAIL: T1\x1b[0m\n", "test: T1"), "broken": {},
	}
	b := newBench(t, func(e *Config) { e.Gates = gates })
	r := b.Run(spec.ToolRunGates, tooltest.Args{"gates": []any{"build", "known", "odd", "test", "build"}})
	require.False(t, r.Err)
	require.Equal(t, 2, r.Output["red"])
	require.True(t, r.Red)
	require.Equal(t, `build: pass (exit code 0): go build
known: red, as on the base commit, and with nothing new (exit code 1): make x
as ever
odd: red, and it cannot be told whether by your change: it is red on the base commit too (exit code 1): make x
test: fail (exit code 1): make x
- new: test: T1
--- FAIL: T1
`, r.Output["output"])
	require.Equal(t, `there is no gate "lint", "vet"; the gates are broken, build, known, odd, test`,
		b.Fails(spec.ToolRunGates, tooltest.Args{"gates": []any{"lint", "test", "vet"}}))
	said := b.Fails(spec.ToolRunGates, nil)
	require.Contains(t, said, "gate broken could not be run: no such program")
	gates["broken"] = gate(spec.VerdictFail, "", many...)
	out := b.OK(spec.ToolRunGates, tooltest.Args{"gates": []any{"broken"}})
	require.Contains(t, out, "- and 3 more\n")
	require.Equal(t, maxGateFailures, strings.Count(out, "- new: "))
	none := newBench(t, nil)
	require.Contains(t, none.Fails(spec.ToolRunGates, nil), "has no gates")
}
