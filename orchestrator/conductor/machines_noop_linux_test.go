package conductor_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/fleet"
)

// many is a job of so many tasks of a role, which can be one that does nothing.
func (l *large) many(b *testing.B, tasks int, role, limits string) {
	b.Helper()
	var text strings.Builder
	text.WriteString("goal: Do much\ntasks:\n")
	for i := range tasks {
		fmt.Fprintf(&text, "  - {id: read-%05d, role: %s, brief: b%s}\n", i, role, limits)
	}
	l.write(b, "mod.md", "---\nname: mod\ndescription: Does nothing\nexecutor: command\ncommand: ['true']\n---\nIt does nothing.\n")
	l.write(b, "plan.yaml", text.String())
}

// use is what the server had used at a moment.
type use struct {
	at    time.Time
	cpu   time.Duration
	resMB float64
}

func (m *machines) use(b *testing.B) use {
	b.Helper()
	res, ok := memoryMB(m.host.PID(), "VmRSS:")
	require.True(b, ok)
	return use{time.Now(), cpuOf(b, m.host.PID()), res}
}

// BenchmarkMachinesNoop has eight workers execute tasks that do nothing, and prints what a task costs the server, which
// conducts, in the first quarter of the tasks and in the last one.
func BenchmarkMachinesNoop(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, tasks := range []int{400, 10000} {
		b.Run(fmt.Sprintf("%d-tasks", tasks), func(b *testing.B) {
			for b.Loop() {
				l := newLarge(b, program, 1)
				l.many(b, tasks, "mod", "")
				m := newMachines(b, program)
				m.hire(b, 8, "--agents", "2")
				noops(b, m, l, tasks)
				m.end()
			}
		})
	}
}

func noops(b *testing.B, m *machines, l *large, tasks int) {
	b.Helper()
	uses, ended, events := []use{m.use(b)}, 0, 0
	id := m.submit(b, l.args()...)
	m.watch(b, id, func(e contextscope.Event) {
		events++
		if e.Kind == contextscope.KindResult && e.Task != "--baseline" {
			if ended++; ended%(tasks/4) == 0 {
				uses = append(uses, m.use(b))
			}
		}
	})
	require.Equal(b, tasks, ended)
	cost := func(quarter int) float64 {
		return (uses[quarter].cpu - uses[quarter-1].cpu).Seconds() * 1000 / float64(tasks/4)
	}
	_, worker := m.peaks(b)
	b.ReportMetric(float64(tasks*3/4)/uses[4].at.Sub(uses[1].at).Seconds(), "tasks/s")
	b.ReportMetric(cost(2), "second-quarter-cpu-ms/task")
	b.ReportMetric(cost(4), "last-quarter-cpu-ms/task")
	b.ReportMetric(uses[1].resMB, "quarter-MB")
	b.ReportMetric(uses[4].resMB, "end-MB")
	b.ReportMetric(worker, "worker-peak-MB")
	b.ReportMetric(float64(events), "events")
	b.ReportMetric(m.takes(b, "show", id, "--on", fleet.Hub).Seconds(), "show-s")
}

// BenchmarkMachinesShow prints how long divisi show takes for a run of a server with a long log, that of agents that read.
func BenchmarkMachinesShow(b *testing.B) {
	server, program := buildCommand(b, "divisi/internal/testkit/geminitest/cmd"), buildCommand(b, "divisi/cmd/divisi")
	for _, tasks := range []int{40, 1200} {
		b.Run(fmt.Sprintf("%d-agents", tasks), func(b *testing.B) {
			for b.Loop() {
				l := newLarge(b, program, 1)
				for name, text := range files(8) {
					l.write(b, "repo/"+name, text)
				}
				sh(b, l.repo, "git add -A && git -c user.name=t -c user.email=t@t commit -q -m files")
				l.many(b, tasks, spec.RoleReader, fmt.Sprintf(", limits: {turns: %d}", 2*readTurns))
				m := newMachines(b, program, simulated(serve(b, server, readRules()))...)
				m.hire(b, 4)
				events, began := 0, time.Now()
				id := m.submit(b, l.args("--parallel", "64")...)
				m.watch(b, id, func(contextscope.Event) { events++ })
				b.ReportMetric(float64(events), "events")
				b.ReportMetric(float64(events)/time.Since(began).Seconds(), "events/s")
				b.ReportMetric(m.takes(b, "show", id, "--on", fleet.Hub).Seconds(), "show-s")
				b.ReportMetric(2, "goal-s")
				host, worker := m.peaks(b)
				b.ReportMetric(host, "conductor-MB")
				b.ReportMetric(worker, "worker-MB")
				m.end()
			}
		})
	}
}
