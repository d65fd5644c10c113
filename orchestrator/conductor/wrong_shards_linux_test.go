package conductor_test

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/run"
)

// wrongShards are shards of a hundred that fail, each in another way: its command fails; it writes another file; the gate names the
// file with a line; the gate names the file alone; nothing tells the gate's failure.
const wrongShards = `for f; do
  case "$f" in
  */f10.txt) echo broken >&2; exit 1 ;;
  */f30.txt) echo more >> other.txt ;;
  */f50.txt) echo 'syntax(' > "$f" ;;
  */f70.txt) echo 'value(' > "$f" ;;
  */f90.txt) echo 'total(' > "$f" ;;
  *) echo line >> "$f" ;;
  esac
done`

// BenchmarkWrongShards runs a hundred shards with a gate of ten seconds: once all are right, once five are wrong. limit-s is 1.15
// times the wall clock without wrong ones, and two runs of the gate.
func BenchmarkWrongShards(b *testing.B) {
	const gate = "sleep 10; grep -n syntax d000/* | sed 's/:syntax.*/: error: a call is not closed/'; " +
		"grep -l value d000/* | sed 's/^/FAIL: /'; ! grep -q total d000/* || echo 'error: the total is wrong'; ! grep -qE 'syntax|value|total' d000/*"
	program := buildCommand(b, "divisi/cmd/divisi")
	l := newLarge(b, program, 100)
	l.write(b, "repo/.divisi/divisi.yaml", "gates: [{name: calls, command: [sh, -c, \""+gate+"\"]}]\n")
	sh(b, l.repo, "git add -A && git -c user.name=t -c user.email=t@t commit -q -m gate")
	m := medians{}
	for b.Loop() {
		right, rightRuns := l.wrong(b, `for f; do echo line >> "$f"; done`, 0)
		wrong, wrongRuns := l.wrong(b, wrongShards, 5)
		m.add("right-s", right.Seconds())
		m.add("wrong-s", wrong.Seconds())
		m.add("limit-s", 1.15*right.Seconds()+20)
		m.add("times-right", wrong.Seconds()/right.Seconds())
		m.add("right-gate-runs", float64(rightRuns))
		m.add("wrong-gate-runs", float64(wrongRuns))
	}
	m.report(b)
}

// wrong has the program do a job in a fresh state directory, of whose shards so many park.
func (l *large) wrong(b *testing.B, script string, parked int) (wall time.Duration, gates int) {
	b.Helper()
	l.state = b.TempDir()
	l.job(b, "command:\n  - sh\n  - -c\n  - |\n    "+strings.ReplaceAll(script, "\n", "\n    ")+"\n  - sh\n  - '{files}'",
		"attempts: 2, shard: {by: file, glob: 'd000/*', max_files: 1}")
	landed := 0
	var exit *exec.ExitError
	s, err := l.try(b, func(e contextscope.Event, _ int) {
		if e.Kind != contextscope.KindLanding {
			return
		}
		var d run.LandingData
		if json.Unmarshal(e.Data, &d) == nil && d.State == run.LandingLanded {
			landed += len(d.Tasks)
		}
	})
	require.True(b, err == nil || parked > 0 && errors.As(err, &exit) && exit.ExitCode() == 1, err)
	require.Equal(b, 100-parked, landed)
	return s.wall, s.gates
}
