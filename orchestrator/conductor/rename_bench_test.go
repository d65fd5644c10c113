package conductor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/testkit/renamejob"
	"divisi/orchestrator/view"
)

// BenchmarkRename has the program rename a function that n packages use, with a simulated service in another process: in three
// waves with one patch a gate run, with batches, and with batches where all shards may run before a gate has passed on one; and as one
// change set. The gates are Go's own; gate-s is the time in which one was running.
func BenchmarkRename(b *testing.B) {
	server := buildCommand(b, "divisi/internal/testkit/geminitest/cmd")
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, how := range []struct{ name, plan, prove string }{
		{"each", renamejob.Waves, spec.ProveEach},
		{"batch", renamejob.Waves, spec.ProveBatch},
		{"set", renamejob.Set, spec.ProveBatch},
		{"atonce", strings.Replace(renamejob.Waves, "    shard:", "    canary: 100\n    shard:", 1), spec.ProveBatch},
	} {
		for _, n := range []int{8, 32, 64, 256} {
			b.Run(fmt.Sprintf("%s/%d", how.name, n), func(b *testing.B) {
				for b.Loop() {
					rename(b, program, server, how.plan, how.prove, n)
				}
			})
		}
	}
}

// minCache is the smallest prefix that the service of the default model caches.
var minCache = strconv.Itoa(model.Lookup(model.DefaultModel).MinCache)

// renaming is the job of renaming a function that n packages use: the arguments of run for it, and what the environment must have for
// the simulated service.
func renaming(b *testing.B, server, tasks, prove string, n int) (args, env []string) {
	b.Helper()
	dir := b.TempDir()
	repo, plan := filepath.Join(dir, "repo"), filepath.Join(dir, "plan.yaml")
	require.NoError(b, renamejob.Write(repo, n))
	sh(b, repo, "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -q -m base")
	require.NoError(b, os.WriteFile(plan, []byte(tasks), 0o600))
	script, err := yaml.Marshal(renamejob.Script())
	require.NoError(b, err)
	return []string{"run", "--plan", plan, "--repo", repo, "--parallel", fmt.Sprint(n), "--yes", "--prove", prove},
		simulated(serve(b, server, string(script), "--min-cache", minCache))
}

// simulated is the environment in which the default model is a service at this address.
func simulated(url string) []string {
	return []string{"GEMINI_API_KEY=bench", "GOOGLE_GEMINI_BASE_URL=" + url}
}

func rename(b *testing.B, program, server, tasks, prove string, n int) {
	state := filepath.Join(b.TempDir(), "state")
	args, env := renaming(b, server, tasks, prove, n)
	cmd := exec.CommandContext(b.Context(), program, append(args, "--output", "json", "--state-dir", state)...)
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, os.Stderr
	begin := time.Now()
	require.NoError(b, cmd.Start())
	peak := watchPeak(b, cmd.Process.Pid)
	err := cmd.Wait()
	took := time.Since(begin)
	require.NoError(b, err)
	gates, usage := 0, spec.Usage{}
	for line := range bytes.Lines(out.Bytes()) {
		var e contextscope.Event
		require.NoError(b, json.Unmarshal(line, &e))
		switch e.Kind {
		case contextscope.KindReceipt:
			var r spec.Receipt
			require.NoError(b, json.Unmarshal(e.Data, &r))
			if r.Gate == "go-test" {
				gates++
			}
		case contextscope.KindUsage:
			var u spec.Usage
			require.NoError(b, json.Unmarshal(e.Data, &u))
			usage = usage.Add(u)
		}
	}
	b.ReportMetric(took.Seconds(), "wall-s")
	b.ReportMetric(covered(gateSpans(b, out.Bytes())).Seconds(), "gate-s")
	b.ReportMetric(float64(gates), "gate-runs")
	b.ReportMetric(float64(usage.Calls), "calls")
	b.ReportMetric(float64(usage.Prompt)/1000, "prompt-k")
	b.ReportMetric(float64(usage.Prompt-usage.Cached)/1000, "uncached-k")
	b.ReportMetric(cmd.ProcessState.UserTime().Seconds()+cmd.ProcessState.SystemTime().Seconds(), "cpu-s")
	b.ReportMetric(peak(), "peak-MB")
	for unit, value := range accounts(b, program, state) {
		b.ReportMetric(value, unit)
	}
}

// accounts are the floor of the newest run of a state directory, and where its wall clock went.
func accounts(b *testing.B, program, state string) map[string]float64 {
	b.Helper()
	out, err := exec.CommandContext(b.Context(), program, "show", "--output", "json", "--state-dir", state).Output()
	require.NoError(b, err)
	var r view.Report
	require.NoError(b, json.Unmarshal(out, &r))
	units := map[string]float64{"floor-s": r.Times.FloorSeconds}
	for _, p := range r.Times.Parts {
		if p.Seconds >= 0.05 {
			units["in-"+p.Phase+"-s"] = p.Seconds
		}
	}
	return units
}

// watchPeak reads a process's peak of resident memory until it has ended, because the usage that the system reports afterwards
// includes that of its own commands. The function returns the newest value, after the process's end.
func watchPeak(b *testing.B, pid int) func() float64 {
	b.Helper()
	peak := make(chan float64, 1)
	go func() {
		newest := 0.0
		for {
			now, ok := peakMB(pid)
			if !ok {
				peak <- newest
				return
			}
			newest = now
			<-time.After(20 * time.Millisecond)
		}
	}()
	return func() float64 { return <-peak }
}
