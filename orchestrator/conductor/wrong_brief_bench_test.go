package conductor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
)

const (
	wrongProject = `gates:
  - name: words
    command: [sh, -c, 'sleep 2; grep -n holla src/*.txt | sed "s/:holla/: error: it says holla/"; ! grep -q holla src/*.txt']
`
	wrongPlan = `tasks:
  - {id: all, role: generator, brief: "Write holla.", shard: {by: file, glob: "src/*.txt", max_files: 1}}
`
	wrongModel = `rules:
  - task: all-*
    steps:
      - delay: 400ms
        calls:
          - {name: write_file, args: {path: '{{capture "- (src/g\\d+\\.txt)"}}', content: "holla\n"}}
          - {name: submit_result, args: {summary: "Greeted."}}
`
)

// BenchmarkWrongBrief has the program work on a template whose brief is wrong, with a gate of two seconds, until it asks.
func BenchmarkWrongBrief(b *testing.B) {
	server := buildCommand(b, "divisi/internal/testkit/geminitest/cmd")
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, n := range []int{12, 40, 200} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			for b.Loop() {
				wrongBrief(b, program, server, n)
			}
		})
	}
}

func wrongBrief(b *testing.B, program, server string, n int) {
	dir := b.TempDir()
	repo, plan := filepath.Join(dir, "repo"), filepath.Join(dir, "plan.yaml")
	for _, d := range []string{"src", ".divisi"} {
		require.NoError(b, os.MkdirAll(filepath.Join(repo, d), 0o755))
	}
	for i := range n {
		require.NoError(b, os.WriteFile(filepath.Join(repo, "src", fmt.Sprintf("g%03d.txt", i+1)), []byte("old\n"), 0o600))
	}
	require.NoError(b, os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"), []byte(wrongProject), 0o600))
	require.NoError(b, os.WriteFile(plan, []byte(wrongPlan), 0o600))
	sh(b, repo, "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -q -m base")
	cmd := exec.CommandContext(b.Context(), program, "run", "--plan", plan, "--repo", repo, "--parallel", "40", "--yes",
		"--on-doubt", "ask", "--output", "json", "--state-dir", filepath.Join(dir, "state"))
	cmd.Env = append(os.Environ(), "GEMINI_API_KEY=bench", "GOOGLE_GEMINI_BASE_URL="+serve(b, server, wrongModel, "--min-cache", minCache))
	begin := time.Now()
	out, err := cmd.Output()
	took := time.Since(begin)
	var exit *exec.ExitError
	require.ErrorAs(b, err, &exit)
	require.Equal(b, 3, exit.ExitCode(), "it waits for a person: %s", exit.Stderr)
	attempts, gates, usage := 0, 0, spec.Usage{}
	for line := range bytes.Lines(out) {
		var e contextscope.Event
		require.NoError(b, json.Unmarshal(line, &e))
		switch e.Kind {
		case contextscope.KindStarted:
			if strings.HasPrefix(e.Task, "all-") {
				attempts++
			}
		case contextscope.KindReceipt:
			if e.Task != "--baseline" && e.Task != "--flakes" {
				gates++
			}
		case contextscope.KindUsage:
			var u spec.Usage
			require.NoError(b, json.Unmarshal(e.Data, &u))
			usage = usage.Add(u)
		}
	}
	b.ReportMetric(float64(attempts), "attempts")
	b.ReportMetric(float64(gates), "gate-runs")
	b.ReportMetric(float64(usage.Total())/1000, "tokens-k")
	b.ReportMetric(took.Seconds(), "wall-s")
}
