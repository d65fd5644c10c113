package conductor_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// codemod is a job that sed does: so many of the files of a repository have what it replaces.
type codemod struct {
	files, uses int
	// size is the most files of a shard, 0 for the default; gate is the gate's script.
	size int
	gate string
}

const sed = "s/oldCall(/newCall(/"

// BenchmarkCodemod has the program change files with sed, and a script do the same in the checkout: xargs with the same files a
// call, add, commit, and one run of the same gate. limit-s is three times the script, counted as at least a second, and three
// seconds. cpu-ms/task is the processor time without gates. each/plan is the time of divisi each against that of the same change by
// a plan, both with a kept baseline; preview/grep is that of the preview against git grep.
func BenchmarkCodemod(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, c := range []struct {
		name string
		codemod
	}{
		{"1000-files", codemod{files: 1000, uses: 1000, gate: "true"}},
		{"1000-files-of-5", codemod{files: 1000, uses: 1000, size: 5, gate: "true"}},
		{"1000-of-10000-files", codemod{files: 10000, uses: 1000, gate: "true"}},
		{"5000-files", codemod{files: 5000, uses: 5000, gate: "true"}},
		{"200-of-25000-files", codemod{
			files: 25000, uses: 200, size: 4, gate: "sleep 4; find . -name '*.txt' -print0 | xargs -0 sha256sum | tail -n 1",
		}},
	} {
		b.Run(c.name, func(b *testing.B) { c.bench(b, newLarge(b, program, c.files)) })
	}
}

func (c codemod) bench(b *testing.B, l *large) {
	b.Helper()
	for i := range c.uses {
		l.write(b, fmt.Sprintf("repo/d%03d/f%02d.txt", i*c.files/c.uses/100, i*c.files/c.uses%100), strings.Repeat("oldCall(1)\n", 30))
	}
	l.write(b, "repo/.divisi/divisi.yaml", "gates: [{name: ok, command: [sh, -c, "+strconv.Quote(c.gate)+"]}]\n")
	sh(b, l.repo, "git add -A && git -c user.name=t -c user.email=t@t commit -q -m uses")
	shard := `shard: {by: file, match: 'oldCall\('}`
	if c.size > 0 {
		shard = fmt.Sprintf(`shard: {by: file, match: 'oldCall\(', max_files: %d}`, c.size)
	}
	l.job(b, "command: [sed, -i, -e, '"+sed+"', '{files}']", shard)
	m := medians{}
	for b.Loop() {
		c.round(b, l, m)
	}
	m.report(b)
}

func (c codemod) round(b *testing.B, l *large, m medians) {
	b.Helper()
	tasks, size, batches := 0, c.size, 0
	made := l.run(b, func(e contextscope.Event, _ int) {
		if e.Kind != contextscope.KindLanding {
			return
		}
		var d run.LandingData
		require.NoError(b, json.Unmarshal(e.Data, &d))
		if d.State != run.LandingLanded {
			return
		}
		batches++
		for _, t := range d.Tasks {
			tasks, size = tasks+1, max(size, t.Files)
		}
	})
	byHand := l.shell(b, fmt.Sprintf("grep -rl 'oldCall(' --include=*.txt . | xargs -P 2 -n %d sed -i -e '%s' && git add -A && "+
		"git -c user.name=t -c user.email=t@t commit -q -m mod && { %s; }", size, sed, c.gate))
	proof := l.shell(b, c.gate)
	sh(b, l.repo, "git diff --exit-code HEAD divisi/"+l.newest(b)+" && git reset -q --hard HEAD~1")
	if c.size == 0 {
		c.each(b, l, m)
	}
	m.add("wall-s", made.wall.Seconds())
	m.add("script-s", byHand.wall.Seconds())
	m.add("times-script", made.wall.Seconds()/byHand.wall.Seconds())
	m.add("limit-s", 3*max(1, byHand.wall.Seconds())+3)
	m.add("tasks", float64(tasks))
	m.add("batches", float64(batches))
	m.add("gate-runs", float64(made.gates))
	m.add("cpu-ms/task", (made.cpu-time.Duration(made.gates)*proof.cpu).Seconds()*1000/float64(tasks))
	m.add("peak-MB", made.peakMB)
	for unit, value := range accounts(b, l.program, l.state) {
		m.add(unit, value)
	}
}

// each has the same change made by one line.
func (c codemod) each(b *testing.B, l *large, m medians) {
	b.Helper()
	plan := l.takes(b, l.args()...)
	each := l.takes(b, "each", "--by", "file", "--match", `oldCall\(`, "--repo", l.repo, "--yes", "--state-dir", l.state,
		"--", "sed", "-i", "-e", sed, "{files}")
	m.add("each/plan", each/plan)
	preview := l.takes(b, l.args("--dry-run")...)
	m.add("preview-s", preview)
	m.add("preview/grep", preview/l.shell(b, "git grep -c 'oldCall(' >/dev/null").wall.Seconds())
}

// newest is the id of the newest run.
func (l *large) newest(b *testing.B) string {
	b.Helper()
	runs, err := os.ReadDir(filepath.Join(l.state, "runs"))
	require.NoError(b, err)
	return runs[len(runs)-1].Name()
}

// gitProcesses has the program land so many tasks of one file with a git that counts how often it is started, and returns that
// for each task.
func (l *large) gitProcesses(b *testing.B, tasks int) float64 {
	b.Helper()
	git, err := exec.LookPath("git")
	require.NoError(b, err)
	bin, counted := filepath.Join(b.TempDir(), "bin"), filepath.Join(b.TempDir(), "count")
	require.NoError(b, os.MkdirAll(bin, 0o755))
	script := fmt.Sprintf("#!/bin/sh\necho >>%q\nexec %q \"$@\"\n", counted, git)
	require.NoError(b, os.WriteFile(filepath.Join(bin, "git"), []byte(script), 0o755))
	b.Setenv("PATH", bin+":"+os.Getenv("PATH"))
	l.appends(b, tasks)
	lines, err := os.ReadFile(counted)
	require.NoError(b, err)
	return float64(len(lines)) / float64(tasks)
}
