package conductor_test

import (
	"cmp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view"
)

// These are gates of worker a that lie, in the environment of the honest workers: all tests pass, or all but one fail on the base
// commit too, so that everything is excused later.
var (
	signsPass = liar(allPass)
	excuses   = liar("#!/bin/sh\nprintf '1..3\\nok 1 - f00\\nnot ok 2 - f01\\nnot ok 3 - f02\\n'\nexit 1\n")
)

func liar(script string) string {
	return "#!/bin/sh\ncase $0 in */of-a/*)\n" + strings.TrimPrefix(script, "#!/bin/sh\n") + "exit 0;; esac\n" +
		strings.TrimPrefix(test(""), "#!/bin/sh\n")
}

// lie is a run of two tasks and one gate that each task names; the second task breaks a test. Its worker a lies as the script
// says, does the tasks, and proves both batches; the honest ones are there beside it from the second one on.
func lie(t testing.TB, script, beside string, honest ...string) *run.State {
	t.Helper()
	m := newMixed(t, func(s *run.Spec) {
		s.Project.Prove = spec.ProveEach
		s.Plan = planOf(gated(task("one", "good", "f00.txt"), "test"), gated(task("two", "bad", "f01.txt", "one"), "test"))
	})
	defer m.join("a", script)()
	m.until(landed("one"))
	for _, name := range honest { // idle until then: its proof is what the end would take
		m.enlist(name)
	}
	m.until(landed("two"))
	for _, name := range honest {
		defer m.join(name, beside, "tester")()
	}
	return m.end()
}

// wrong reports whether wrong work counts as done.
func wrong(s *run.State) bool { return s.Status == run.Done && landed("two")(s) }

// A worker that signs a pass for wrong work in the last batch does not close the gates of the end where another one is there. Alone
// it does, and the end says so.
func TestALyingWorkerDoesNotCloseTheEnd(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		script, beside string
		honest         []string
		reason         string
	}{
		"beside an honest one":   {signsPass, "", []string{"b"}, "the final gates are redder than the baseline, first after batch 2: two"},
		"beside two":             {signsPass, "", []string{"b", "c"}, "the final gates are redder than the baseline, first after batch 2: two"},
		"in another environment": {allPass, test(""), []string{"b"}, "the final gates are redder than the baseline, first after batch 2: two"},
		"about the base commit":  {excuses, "", []string{"b"}, "the final gates are redder than the baseline"},
		"alone":                  {signsPass, "", nil, "2 landed, proven by one worker"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if testing.Short() && len(c.honest) > 1 {
				t.Skip("a whole run of several workers")
			}
			st := lie(t, c.script, cmp.Or(c.beside, c.script), c.honest...)
			require.Equal(t, c.reason, st.Reason, "%v", st.Notices)
			require.Equal(t, len(c.honest) == 0, wrong(st))
			require.Equal(t, len(c.honest) == 0, view.Of(st).OneWorker == "a")
		})
	}
}

// BenchmarkLying counts the runs in which wrong work counts as done although honest workers are beside the one that lies.
func BenchmarkLying(b *testing.B) {
	const runs = 50
	for name, honest := range map[string][]string{"alone": nil, "beside one": {"b"}, "beside two": {"b", "c"}} {
		b.Run(name, func(b *testing.B) {
			n, told, began := 0, 0, time.Now()
			for range runs {
				st := lie(b, signsPass, signsPass, honest...)
				if wrong(st) {
					n++
				}
				if view.Of(st).OneWorker != "" {
					told++
				}
			}
			b.ReportMetric(float64(n), "wrong-of-50")
			b.ReportMetric(float64(told), "by-one-worker-of-50")
			b.ReportMetric(time.Since(began).Seconds()/runs, "s/run")
			b.ReportMetric(0, "ns/op")
		})
	}
}
