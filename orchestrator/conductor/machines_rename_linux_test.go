package conductor_test

import (
	"fmt"
	"testing"

	"divisi/internal/spec"
	"divisi/internal/testkit/fleet"
	"divisi/internal/testkit/renamejob"
)

// BenchmarkMachinesRename renames a function that n packages use, by one process, and by three workers of a server that has no
// places, all on this machine. The process and each of the workers do it alone before, so that caches are warm. The wall clocks
// are those of the person's command.
func BenchmarkMachinesRename(b *testing.B) {
	server, program := buildCommand(b, "divisi/internal/testkit/geminitest/cmd"), buildCommand(b, "divisi/cmd/divisi")
	for _, n := range []int{8, 64} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			args, env := renaming(b, server, renamejob.Waves, spec.ProveBatch, n)
			m := newMachines(b, program, env...)
			several := append(args, "--on", fleet.Hub)
			m.takes(b, args...)
			for i := range 3 {
				m.hire(b, 1, "--agents", fmt.Sprint(n/3+1))
				m.takes(b, several...)
				m.takes(b, "workers", "pause", m.workers[i].Name, "--for", "3h", "--on", fleet.Hub)
			}
			for _, w := range m.workers {
				m.takes(b, "workers", "resume", w.Name, "--on", fleet.Hub)
			}
			figures := medians{}
			for b.Loop() {
				one, three := m.takes(b, args...).Seconds(), m.takes(b, several...).Seconds()
				figures.add("one-s", one)
				figures.add("three-s", three)
				figures.add("times-one", three/one)
				figures.add("goal-x", 1.15)
			}
			figures.report(b)
		})
	}
}

// BenchmarkMachinesMemory has four workers rename a function that n packages use, all at once, and prints the most memory that
// the server, which conducts, and one of the workers had.
func BenchmarkMachinesMemory(b *testing.B) {
	server, program := buildCommand(b, "divisi/internal/testkit/geminitest/cmd"), buildCommand(b, "divisi/cmd/divisi")
	for _, n := range []int{32, 512} {
		b.Run(fmt.Sprintf("N=%d", n), func(b *testing.B) {
			for b.Loop() {
				args, env := renaming(b, server, renamejob.Waves, spec.ProveBatch, n)
				m := newMachines(b, program, env...)
				m.hire(b, 4, "--agents", fmt.Sprint(n/4))
				took := m.takes(b, append(args, "--on", fleet.Hub)...)
				host, worker := m.peaks(b)
				m.end()
				b.ReportMetric(took.Seconds(), "wall-s")
				b.ReportMetric(host, "conductor-MB")
				b.ReportMetric(200, "conductor-goal-MB")
				b.ReportMetric(worker, "worker-MB")
				b.ReportMetric(150, "worker-goal-MB")
			}
		})
	}
}
