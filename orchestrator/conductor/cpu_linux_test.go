package conductor_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// BenchmarkConductorCPU prints the CPU time a task of conductor and bus, of runs with few and with many tasks, and their ratio.
// The tasks end at once; agents, commands and git are not in it.
func BenchmarkConductorCPU(b *testing.B) {
	for b.Loop() {
		few, many := conductorCPU(b, 500), conductorCPU(b, 2500)
		b.ReportMetric(few, "cpu-ms/task-of-500")
		b.ReportMetric(many, "cpu-ms/task-of-2500")
		b.ReportMetric(many/few, "ratio")
	}
}

func conductorCPU(b *testing.B, tasks int) float64 {
	b.Helper()
	r := newRig(b, files(1), func(s *run.Spec) {
		manyReaders(tasks)(s)
		s.Parallel, s.AllowUnverified = 8, true
	})
	defer r.hands(b.Context(), func(*wire.Assignment) spec.Result { return done() })()
	began := cpuTime(b)
	st, err := r.conduct(b.Context(), r.config())
	require.NoError(b, err)
	require.Equal(b, tasks, st.Tasks.Counts()[run.TaskDone])
	return float64((cpuTime(b) - began).Microseconds()) / 1000 / float64(tasks)
}

// cpuTime is what this process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	require.NoError(b, syscall.Getrusage(syscall.RUSAGE_SELF, &u))
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
