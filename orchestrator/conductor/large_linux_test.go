package conductor_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// BenchmarkAppends has the program land tasks that append a line each, with a gate that passes at once, in repositories of
// several sizes. landed/s counts from the first dispatch to the last landing. cpu-ms/task is the processor time of all processes
// from the first landing to the last, so that no first use of a slot is in it.
func BenchmarkAppends(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, files := range []int{5000, 40000} {
		b.Run(fmt.Sprintf("%d-files", files), func(b *testing.B) {
			l := newLarge(b, program, files)
			for b.Loop() {
				l.appends(b, 1000).report(b)
				b.ReportMetric(l.gitProcesses(b, 100), "git/task")
			}
		})
	}
	b.Run("5000-tasks", func(b *testing.B) {
		l := newLarge(b, program, 5000)
		for b.Loop() {
			few, many := l.appends(b, 100), l.appends(b, 5000)
			many.report(b)
			b.ReportMetric(many.cpuPerTask/few.cpuPerTask, "times-100-tasks")
			b.ReportMetric(l.takes(b, "show", "--state-dir", l.state), "show-s")
			b.ReportMetric(l.takes(b, l.args("--dry-run")...), "check-s")
		}
	})
}

// large is a repository with many files, and a job to do there.
type large struct {
	program, dir, repo, state string
}

// newLarge makes a repository with a hundred files in each directory.
func newLarge(b *testing.B, program string, files int) *large {
	b.Helper()
	dir := b.TempDir()
	l := &large{program: program, dir: dir, repo: filepath.Join(dir, "repo"), state: filepath.Join(dir, "state")}
	for i := range files {
		l.write(b, fmt.Sprintf("repo/d%03d/f%02d.txt", i/100, i%100), strings.Repeat(fmt.Sprintf("line of %d\n", i), 30))
	}
	l.write(b, "repo/.divisi/divisi.yaml", "gates: [{name: ok, command: ['true']}]\n")
	sh(b, l.repo, "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -q -m base")
	return l
}

func (l *large) write(b *testing.B, name, text string) {
	b.Helper()
	path := filepath.Join(l.dir, name)
	require.NoError(b, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(b, os.WriteFile(path, []byte(text), 0o644))
}

// job writes the role and the plan of a job.
func (l *large) job(b *testing.B, command, shard string) {
	b.Helper()
	l.write(b, "mod.md", "---\nname: mod\ndescription: Changes files\nexecutor: command\njoin: true\n"+command+"\n---\nIt changes files.\n")
	l.write(b, "plan.yaml", "goal: Change many files\ntasks:\n  - {id: t, role: mod, brief: b, "+shard+"}\n")
}

func (l *large) args(more ...string) []string {
	return append([]string{
		"run", "--plan", filepath.Join(l.dir, "plan.yaml"), "--role", filepath.Join(l.dir, "mod.md"), "--repo", l.repo,
		"--yes", "--state-dir", l.state,
	}, more...)
}

// spent is what a program took, and what its log says.
type spent struct {
	wall, cpu time.Duration
	peakMB    float64
	gates     int
}

func (l *large) command(b *testing.B, name string, args ...string) *exec.Cmd {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), name, args...)
	cmd.Dir, cmd.Stderr = l.repo, os.Stderr
	return cmd
}

func spentBy(cmd *exec.Cmd, began time.Time) spent {
	s := spent{wall: time.Since(began), cpu: cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		s.peakMB = float64(usage.Maxrss) / 1024
	}
	return s
}

func (l *large) shell(b *testing.B, script string) spent {
	b.Helper()
	cmd, began := l.command(b, "sh", "-c", script), time.Now()
	require.NoError(b, cmd.Run())
	return spentBy(cmd, began)
}

// takes is the time of a command of the program, in seconds.
func (l *large) takes(b *testing.B, args ...string) float64 {
	b.Helper()
	cmd, began := l.command(b, l.program, args...), time.Now()
	require.NoError(b, cmd.Run())
	return time.Since(began).Seconds()
}

// run has the program do the job, and calls visit with each event as it comes.
func (l *large) run(b *testing.B, visit func(e contextscope.Event, pid int)) spent {
	b.Helper()
	s, err := l.try(b, visit)
	require.NoError(b, err)
	return s
}

// printedEvents calls visit with each event that the program prints as JSON, as it comes.
func printedEvents(b *testing.B, out io.Reader, visit func(contextscope.Event)) {
	b.Helper()
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 64<<20)
	for lines.Scan() {
		var e contextscope.Event
		require.NoError(b, json.Unmarshal(lines.Bytes(), &e))
		visit(e)
	}
	require.NoError(b, lines.Err())
}

// try is run where the program may fail.
func (l *large) try(b *testing.B, visit func(e contextscope.Event, pid int)) (spent, error) {
	b.Helper()
	cmd, began, gates := l.command(b, l.program, l.args("--output", "json")...), time.Now(), 0
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	printedEvents(b, out, func(e contextscope.Event) {
		if e.Kind == contextscope.KindReceipt {
			gates++
		}
		visit(e, cmd.Process.Pid)
	})
	err = cmd.Wait()
	s := spentBy(cmd, began)
	s.gates = gates
	return s, err
}

// appended is what it took to append lines.
type appended struct {
	spent
	perSecond, cpuPerTask float64
	batches               int
}

// appends has the program append a line to each of so many files.
func (l *large) appends(b *testing.B, tasks int) appended {
	b.Helper()
	glob := map[int]string{100: "d000/*", 1000: "d00?/*", 5000: "d0[0-4]?/*"}[tasks]
	l.job(b, `command: [sh, -c, 'for f; do echo line >> "$f"; done', sh, '{files}']`, `shard: {by: file, glob: "`+glob+`", max_files: 1}`)
	var a appended
	var began, last time.Time
	var first, all time.Duration
	landed, before := 0, 0
	a.spent = l.run(b, func(e contextscope.Event, pid int) {
		if e.Kind == contextscope.KindTask && began.IsZero() {
			began = e.Time
		}
		if e.Kind != contextscope.KindLanding {
			return
		}
		var d run.LandingData
		require.NoError(b, json.Unmarshal(e.Data, &d))
		if d.State != run.LandingLanded {
			return
		}
		if landed += len(d.Tasks); first == 0 {
			first, before = cpuOf(b, pid), landed
		}
		a.batches, last, all = a.batches+1, e.Time, cpuOf(b, pid)
	})
	require.Equal(b, tasks, landed)
	a.perSecond = float64(tasks) / last.Sub(began).Seconds()
	a.cpuPerTask = (all - first).Seconds() * 1000 / float64(landed-before)
	return a
}

func (a appended) report(b *testing.B) {
	b.Helper()
	b.ReportMetric(a.perSecond, "landed/s")
	b.ReportMetric(a.cpuPerTask, "cpu-ms/task")
	b.ReportMetric(float64(a.batches), "batches")
	b.ReportMetric(a.peakMB, "peak-MB")
}

// cpuOf is what a process that runs, and those of its descendants that have ended, have used so far. The kernel counts in
// hundredths of a second.
func cpuOf(b *testing.B, pid int) time.Duration {
	b.Helper()
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(b, err)
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	ticks := 0
	for _, f := range fields[11:15] {
		n, err := strconv.Atoi(f)
		require.NoError(b, err)
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
