package conductor_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// These benchmarks print the figures that the project holds itself to. Each runs once (-benchtime 1x).

// buildCommand builds one of the module's commands.
func buildCommand(b *testing.B, pkg string) string {
	b.Helper()
	bin := filepath.Join(b.TempDir(), filepath.Base(pkg))
	out, err := exec.CommandContext(b.Context(), "go", "build", "-o", bin, pkg).CombinedOutput()
	require.NoError(b, err, string(out))
	return bin
}

// BenchmarkDemo runs `divisi demo` as a process, once to warm its caches and once measured. own-s is the part of the wall
// clock in which neither setup nor a gate was running.
func BenchmarkDemo(b *testing.B) {
	bin, state := buildCommand(b, "divisi/cmd/divisi"), b.TempDir()
	demo := func() ([]byte, time.Duration) {
		begin := time.Now()
		out, err := exec.CommandContext(b.Context(), bin, "demo", "--output", "json", "--state-dir", state).Output()
		require.NoError(b, err)
		return out, time.Since(begin)
	}
	_, cold := demo()
	for b.Loop() {
		out, took := demo()
		busy := covered(gateSpans(b, out))
		b.ReportMetric(cold.Seconds(), "cold-s")
		b.ReportMetric(took.Seconds(), "warm-s")
		b.ReportMetric((took - busy).Seconds(), "own-s")
	}
}

type span struct{ from, to time.Time }

// gateSpans reads when setup and gates were running from a run's events.
func gateSpans(b *testing.B, lines []byte) []span {
	b.Helper()
	var spans []span
	var began time.Time
	for line := range bytes.Lines(lines) {
		var e contextscope.Event
		require.NoError(b, json.Unmarshal(line, &e))
		switch {
		case e.Kind == contextscope.KindStarted && e.Task == "--baseline":
			began = e.Time
		case e.Kind == contextscope.KindReceipt:
			var r spec.Receipt
			require.NoError(b, json.Unmarshal(e.Data, &r))
			spans = append(spans, span{e.Time.Add(-r.Duration), e.Time})
			if e.Task == "--baseline" && !began.IsZero() {
				spans, began = append(spans, span{began, e.Time}), time.Time{}
			}
		}
	}
	return spans
}

// covered is the length of the union of the spans.
func covered(spans []span) time.Duration {
	slices.SortFunc(spans, func(x, y span) int { return x.from.Compare(y.from) })
	var sum time.Duration
	var end time.Time
	for _, s := range spans {
		if s.from.Before(end) {
			s.from = end
		}
		if s.to.After(s.from) {
			sum += s.to.Sub(s.from)
			end = s.to
		}
	}
	return sum
}

const noopTasks = 200

// BenchmarkNoop200 lands 200 patches of one line, made by a command that does nothing else. ms/task is the wall clock from
// the first dispatch to the last landing; the other figures are busy time a task, which overlaps.
func BenchmarkNoop200(b *testing.B) {
	for _, mode := range []struct{ name, script string }{
		{"patch", "echo new > $DIVISI_FILES"},
		{"nopatch", "true"},
	} {
		b.Run(mode.name, func(b *testing.B) {
			for b.Loop() {
				noop(b, mode.script)
			}
		})
	}
}

func noop(b *testing.B, script string) {
	b.Helper()
	files := map[string]string{}
	for i := range noopTasks {
		files[fmt.Sprintf("d%02d/f%03d.txt", i%20, i)] = "old\n"
	}
	r := newRig(b, files, func(s *run.Spec) {
		s.Roles["mod"] = command("mod", script)
		s.Plan = planOf(spec.Task{ID: "t", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file"}})
	})
	gitBefore, busBefore := r.git.Spent(), r.bus.Spent()
	st := r.run(b.Context())
	require.Equal(b, run.Done, st.Status, st.Reason)
	took := dispatchToEnd(b, r)
	git, wire := r.git.Spent().Sub(gitBefore), r.bus.Spent().Sub(busBefore)
	perTask := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / noopTasks }
	b.ReportMetric(perTask(took), "ms/task")
	b.ReportMetric(perTask(git.Time), "git-ms/task")
	b.ReportMetric(float64(git.Calls)/noopTasks, "git-calls/task")
	b.ReportMetric(perTask(wire.Time), "bus-ms/task")
	b.ReportMetric(float64(wire.Calls)/noopTasks, "bus-calls/task")
	b.ReportMetric(perTask(commandTime(b, r)), "command-ms/task")
	b.ReportMetric(float64(st.Batches.Count), "batches")
}

// dispatchToEnd is the time from the first dispatch of a task to its last end.
func dispatchToEnd(b *testing.B, r *rig) time.Duration {
	b.Helper()
	var first, last time.Time
	eachEvent(b, r, func(e contextscope.Event) {
		switch e.Kind {
		case contextscope.KindTask:
			if first.IsZero() {
				first = e.Time
			}
			last = e.Time
		case contextscope.KindLanding, contextscope.KindResult:
			last = e.Time
		}
	})
	return last.Sub(first)
}

// commandTime sums what the tasks' own attempts took, process start included.
func commandTime(b *testing.B, r *rig) time.Duration {
	b.Helper()
	var sum time.Duration
	eachEvent(b, r, func(e contextscope.Event) {
		var res spec.Result
		if e.Kind == contextscope.KindResult && json.Unmarshal(e.Data, &res) == nil {
			sum += res.Took
		}
	})
	return sum
}

func eachEvent(b *testing.B, r *rig, visit func(contextscope.Event)) {
	b.Helper()
	for m, err := range r.bus.Read(b.Context(), bus.RunFilter(r.spec.Run), 0) {
		require.NoError(b, err)
		for _, e := range wire.DecodeEvents(m) {
			visit(e)
		}
	}
}

const (
	readTasks = 32
	readTurns = 20
	readDelay = 200 * time.Millisecond
)

// BenchmarkReaders32 has 32 agents read for 20 turns each against the strict server in another process, fsync on. floor-s is
// the longest time that one task's requests took by the server's own log: no runtime can be faster.
func BenchmarkReaders32(b *testing.B) {
	server := buildCommand(b, "divisi/internal/testkit/geminitest/cmd")
	for b.Loop() {
		url := serve(b, server, readRules(), "--delay", readDelay.String())
		r := newRig(b, files(8), func(s *run.Spec) {
			s.Parallel = readTasks
			tasks := make([]spec.Task, 0, readTasks)
			for i := range readTasks {
				tasks = append(tasks, spec.Task{ID: fmt.Sprintf("read-%02d", i), Role: spec.RoleReader, Brief: "Read.", Limits: spec.Limits{Turns: 2 * readTurns}})
			}
			s.Plan = planOf(tasks...)
		})
		gemini, err := model.NewGemini(b.Context(), model.Options{APIKey: "bench", BaseURL: url})
		require.NoError(b, err)
		r.model = model.New(gemini, model.Policy{})
		st := r.run(b.Context())
		gemini.Close()
		require.Equal(b, run.Done, st.Status, st.Reason)
		require.Equal(b, readTasks*readTurns, st.Usage.Calls)
		took, floor := dispatchToEnd(b, r), floorOf(b, url)
		b.ReportMetric(took.Seconds(), "wall-s")
		b.ReportMetric(floor.Seconds(), "floor-s")
		b.ReportMetric(took.Seconds()/floor.Seconds(), "ratio")
		peak, _ := peakMB(os.Getpid())
		b.ReportMetric(peak, "peak-MB")
	}
}

// readRules is the script of agents that read and hand in.
func readRules() string {
	var text strings.Builder
	text.WriteString("rules:\n  - task: read-*\n    steps:\n")
	for i := range readTurns - 1 {
		fmt.Fprintf(&text, "      - calls: [{name: read_file, args: {path: f%02d.txt}}]\n", i%8)
	}
	text.WriteString("      - calls: [{name: submit_result, args: {summary: read}}]\n")
	return text.String()
}

// serve starts the server with a script and returns its address.
func serve(b *testing.B, bin, rules string, flags ...string) string {
	b.Helper()
	script := filepath.Join(b.TempDir(), "script.yaml")
	require.NoError(b, os.WriteFile(script, []byte(rules), 0o600))
	cmd := exec.CommandContext(b.Context(), bin, append(flags, "--addr", "127.0.0.1:0", script)...)
	out, err := cmd.StdoutPipe()
	require.NoError(b, err)
	require.NoError(b, cmd.Start())
	b.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for sc := bufio.NewScanner(out); sc.Scan(); {
		if _, url, ok := strings.Cut(sc.Text(), "GOOGLE_GEMINI_BASE_URL="); ok {
			return strings.Trim(url, `"'`)
		}
	}
	b.Fatal("the server printed no address")
	return ""
}

func floorOf(b *testing.B, url string) time.Duration {
	b.Helper()
	resp, err := http.Get(url + "/__log")
	require.NoError(b, err)
	defer resp.Body.Close()
	sums := map[string]time.Duration{}
	for dec := json.NewDecoder(resp.Body); dec.More(); {
		var e geminitest.Entry
		require.NoError(b, dec.Decode(&e))
		sums[e.Task] += time.Duration(e.End - e.Start)
	}
	var most time.Duration
	for _, d := range sums {
		most = max(most, d)
	}
	return most
}

// peakMB is a process's peak of resident memory; false when it has ended, or where the system does not report it.
func peakMB(pid int) (float64, bool) { return memoryMB(pid, "VmHWM:") }

// memoryMB is a line of what the system reports a process's memory.
func memoryMB(pid int, name string) (float64, bool) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, false
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			kb, err := strconv.Atoi(strings.Fields(rest)[0])
			return float64(kb) / 1024, err == nil
		}
	}
	return 0, false
}
