package conductor_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// proven is what became of a job whose gate sleeps.
type proven struct {
	wall           time.Duration // from the submission to the end
	gates          int
	landed, parked int
}

// prove has workers with one place for gates each change files, one task a file.
func prove(b *testing.B, program, mode, script string, gate time.Duration, files, workers int) (p proven) {
	b.Helper()
	l := newLarge(b, program, files)
	check := fmt.Sprintf("sleep %g; ! grep -rn BROKEN d000 | sed 's/:BROKEN.*/: error: it is broken/' | grep .", gate.Seconds())
	l.write(b, "repo/.divisi/divisi.yaml", "gates: [{name: check, command: [sh, -c, \""+check+"\"]}]\n")
	sh(b, l.repo, "git add -A && git -c user.name=t -c user.email=t@t commit -q -m gate")
	l.job(b, "command: [sh, -c, '"+script+"', sh, '{files}']", "attempts: 1, shard: {by: file, glob: 'd000/*', max_files: 1}")
	m := newMachines(b, program)
	m.hire(b, workers, "--gates", "1", "--agents", fmt.Sprint(32/workers))
	began := time.Now()
	m.watch(b, m.submit(b, l.args("--prove", mode)...), func(e contextscope.Event) {
		p.wall = e.Time.Sub(began)
		switch e.Kind {
		case contextscope.KindReceipt:
			p.gates++
		case contextscope.KindTask:
			if strings.Contains(string(e.Data), `"state":"parked"`) {
				p.parked++
			}
		case contextscope.KindLanding:
			var d run.LandingData
			require.NoError(b, json.Unmarshal(e.Data, &d))
			if d.State == run.LandingLanded {
				p.landed += len(d.Tasks)
			}
		}
	})
	m.end()
	return p
}

// BenchmarkMachinesGates proves 32 patches one by one, with a gate that sleeps, by one worker and by eight, each with one place
// for gates.
func BenchmarkMachinesGates(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, gate := range []time.Duration{2 * time.Second, 20 * time.Second} {
		b.Run(gate.String(), func(b *testing.B) {
			const patches = 32
			for b.Loop() {
				script := `for f; do echo line >> "$f"; done`
				one := prove(b, program, spec.ProveEach, script, gate, patches, 1)
				eight := prove(b, program, spec.ProveEach, script, gate, patches, 8)
				require.Equal(b, patches, one.landed)
				require.Equal(b, patches, eight.landed)
				b.ReportMetric(one.wall.Seconds(), "one-s")
				b.ReportMetric(float64(one.gates), "one-gate-runs")
				b.ReportMetric(eight.wall.Seconds(), "eight-s")
				b.ReportMetric(float64(eight.gates), "eight-gate-runs")
				b.ReportMetric(one.wall.Seconds()/eight.wall.Seconds(), "times-faster")
				b.ReportMetric(6, "goal-x")
			}
		})
	}
}

// BenchmarkMachinesCulprits proves 100 patches by eight workers with one place for gates each. Three of the patches make the gate
// fail, which names their files.
func BenchmarkMachinesCulprits(b *testing.B) {
	program := buildCommand(b, "divisi/cmd/divisi")
	for _, gate := range []time.Duration{2 * time.Second, 20 * time.Second} {
		b.Run(gate.String(), func(b *testing.B) {
			for b.Loop() {
				script := `for f; do case $f in */f17.txt|*/f50.txt|*/f83.txt) echo BROKEN >> "$f";; *) echo line >> "$f";; esac; done`
				p := prove(b, program, spec.ProveBatch, script, gate, 100, 8)
				require.Equal(b, 97, p.landed)
				require.Equal(b, 3, p.parked)
				b.ReportMetric(p.wall.Seconds(), "wall-s")
				b.ReportMetric((4*gate + 10*time.Second).Seconds(), "goal-s")
				b.ReportMetric(float64(p.gates), "gate-runs")
			}
		})
	}
}
