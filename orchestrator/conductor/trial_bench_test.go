package conductor_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
)

// trialFiles are a package with a function and its test.
var trialFiles = map[string]string{
	"p.go": "// Package p%[1]d is about prices.\npackage p%[1]d\n\n// Price is that of n.\nfunc Price(n int) int {\n\tp := n * 3\n\tif n >= %[1]d {\n\t\tp -= 2\n\t}\n\treturn p\n}\n",
	"p_test.go": "package p%[1]d\n\nimport \"testing\"\n\nfunc TestPrice(t *testing.T) {\n\tif got := Price(0); got != 0 {\n\t\tt.Error(got)\n\t}\n" +
		"\tif got := Price(%[1]d); got != %[1]d*3-2 {\n\t\tt.Error(got)\n\t}\n\tif got := Price(%[1]d - 1); got != %[1]d*3-3 {\n\t\tt.Error(got)\n\t}\n}\n",
}

// BenchmarkTrials has a command change the tests of n packages: with the name of what they test, which no experiment is needed for, and
// in their form. gates-s is the time of the gates, trials-s that of the experiments, at most a quarter of it beyond the first four.
func BenchmarkTrials(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, how := range []struct{ name, script string }{
		{"rename", "s/Price(/GetPrice(/g; s/TestPrice/TestGetPrice/; s/Price is/GetPrice is/"},
		{"form", "s/if got := \\(.*\\); got != \\(.*\\) {/if want, got := \\2, \\1; got != want {/"},
	} {
		for _, n := range []int{8, 64} {
			b.Run(fmt.Sprintf("%s/%d", how.name, n), func(b *testing.B) {
				for b.Loop() {
					trials(b, program, how.script, n)
				}
			})
		}
	}
}

func trials(b *testing.B, program, script string, n int) {
	b.Helper()
	dir := b.TempDir()
	write := func(name, text string) {
		name = filepath.Join(dir, name)
		require.NoError(b, os.MkdirAll(filepath.Dir(name), 0o755))
		require.NoError(b, os.WriteFile(name, []byte(text), 0o600))
	}
	write("repo/go.mod", "module example.com/m\n\ngo 1.24\n")
	write("repo/.divisi/divisi.yaml", "gates: [{name: test, command: [go, test, -json, ./...], format: go-test-json}]\n")
	for i := range n {
		for name, text := range trialFiles {
			write(fmt.Sprintf("repo/p%03d/%s", i, name), fmt.Sprintf(text, i+5))
		}
	}
	write("change.md", fmt.Sprintf("---\nname: change\ncommand: [sed, -i, %q, '{files}']\n---\n", script))
	write("plan.yaml", "goal: change tests\ntasks:\n  - {id: t, role: change, brief: Change it., shard: {by: dir, glob: 'p*/*.go'}}\n")
	sh(b, filepath.Join(dir, "repo"), "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -q -m base")
	cmd := exec.CommandContext(b.Context(), program, "run", "--plan", "plan.yaml", "--role", "change.md", "--repo", "repo", "--yes",
		"--on-doubt", "accept", "--output", "json", "--state-dir", filepath.Join(dir, "state"))
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	begin := time.Now()
	out, err := cmd.Output()
	require.NoError(b, err)
	b.ReportMetric(time.Since(begin).Seconds(), "wall-s")
	var gates, tried time.Duration
	made := 0
	for line := range bytes.Lines(out) {
		var e contextscope.Event
		var r spec.Receipt
		require.NoError(b, json.Unmarshal(line, &e))
		if e.Kind != contextscope.KindReceipt {
			continue
		}
		require.NoError(b, json.Unmarshal(e.Data, &r))
		if r.Gate == spec.WeakerGate {
			tried += r.Duration
			made++
		} else {
			gates += r.Duration
		}
	}
	b.ReportMetric(gates.Seconds(), "gates-s")
	b.ReportMetric(tried.Seconds(), "trials-s")
	b.ReportMetric(float64(made), "trials")
}
