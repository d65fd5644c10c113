package conductor_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/testkit/fleet"
)

// backupRuns is how many runs the server has whose backup is measured.
const backupRuns = 20

// BenchmarkMachinesBackup copies a server with twenty runs, some of which go on meanwhile, kills it, puts the copy back, and prints
// how long that takes and whether a message is missing that was acknowledged before. Then all runs end.
func BenchmarkMachinesBackup(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for b.Loop() {
		l := newLarge(b, program, 1)
		l.many(b, 40, "mod", "")
		m := newMachines(b, program)
		m.hire(b, 2, "--agents", "4")
		var runs []string
		for range backupRuns {
			runs = append(runs, m.submit(b, l.args()...))
		}
		m.watch(b, runs[backupRuns/2], func(contextscope.Event) {})
		before, copied := m.positions(b), filepath.Join(m.Dir, "copy")
		b.ReportMetric(m.serves(b, "backup", copied).Seconds(), "backup-s")
		b.ReportMetric(float64(m.size(b, copied))/1e6, "backup-MB")
		m.host.Kill()
		require.NoError(b, os.Rename(filepath.Join(m.Dir, fleet.Serve), filepath.Join(m.Dir, "lost")))
		b.ReportMetric(m.serves(b, "restore", copied).Seconds(), "restore-s")
		began := time.Now()
		require.NoError(b, m.host.Start())
		after := m.positions(b)
		require.NoError(b, fleet.Again(b.Context(), fleet.CommandTime, func() error {
			_, err := m.Command(b.Context(), person, "runs", "--on", fleet.Hub)
			return err
		}))
		b.ReportMetric(time.Since(began).Seconds(), "start-s")
		missing := 0
		for at := range before {
			if !after[at] {
				missing++
			}
		}
		b.ReportMetric(float64(len(before)), "acknowledged")
		b.ReportMetric(float64(len(before)-missing), "present")
		b.ReportMetric(float64(missing), "missing")
		require.Zero(b, missing)
		for _, run := range runs {
			landed := 0
			m.watch(b, run, func(e contextscope.Event) {
				if e.Kind == contextscope.KindResult {
					landed++
				}
			})
			require.GreaterOrEqual(b, landed, 40)
		}
		m.end()
	}
}

// serves is how long a command on the machine of the server takes.
func (m *machines) serves(b *testing.B, args ...string) time.Duration {
	b.Helper()
	began := time.Now()
	_, err := m.Run(b.Context(), fleet.Serve, append([]string{"server"}, args...)...)
	require.NoError(b, err)
	return time.Since(began)
}

// positions are those of the log of the server, which may be starting.
func (m *machines) positions(b *testing.B) map[uint64]bool {
	b.Helper()
	found := map[uint64]bool{}
	require.NoError(b, fleet.Again(b.Context(), fleet.CommandTime, func() error {
		at, err := bus.OwnerOptions(filepath.Join(m.Dir, fleet.Serve, "serve", "bus"))
		if err != nil {
			return err
		}
		log, err := bus.Open(b.Context(), at)
		if err != nil {
			return err
		}
		for e, err := range log.Read(b.Context(), "ev.*.>", 0) {
			if err != nil {
				return err
			}
			found[e.Pos] = true
		}
		return log.Close(b.Context())
	}))
	return found
}

func (m *machines) size(b *testing.B, dir string) (sum int64) {
	b.Helper()
	require.NoError(b, filepath.Walk(dir, func(_ string, info os.FileInfo, err error) error {
		if err == nil && info.Mode().IsRegular() {
			sum += info.Size()
		}
		return err
	}))
	return sum
}
