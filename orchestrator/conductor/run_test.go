package conductor_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// files makes n small files.
func files(n int) map[string]string {
	out := map[string]string{}
	for i := range n {
		out[fmt.Sprintf("f%02d.txt", i)] = "old\n"
	}
	return out
}

// A watcher on the bus, beside conductor and worker, sees one result for each attempt, and two roles at work at once.
func TestSlowEveryAttemptHasOneResultAndRolesOverlap(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(8), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "for f in $DIVISI_FILES; do echo new > $f; done; sleep 0.2")
		s.Project.Gates[0].Command = []string{"sh", "-c", "sleep 0.2"}
		s.Plan = planOf(spec.Task{ID: "all", Role: "mod", Brief: "b", Shard: &spec.Shard{By: "file"}})
	})
	var seen watched
	watching := make(chan error, 1)
	go func() { watching <- seen.follow(t.Context(), r.bus) }()
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.NoError(t, chantest.Next(t, watching))
	dispatched := map[string]int{}
	for id, w := range st.Works {
		for n := range w.Attempts {
			dispatched[wire.AgentID(id, n)]++
		}
	}
	require.Equal(t, dispatched, seen.results, "one result for each attempt that was dispatched, testers included")
	require.Contains(t, dispatched, "--batch-1/1")
	require.True(t, overlap(seen.spans["mod"], seen.spans["tester"]), "agents of two roles worked at the same time")
	require.Len(t, r.landed(), 8)
}

// watched is what a subscriber to a run's log has seen.
type watched struct {
	results map[string]int
	began   map[string]time.Time
	spans   map[string][][2]time.Time
}

// follow subscribes to the log and ends with the run.
func (w *watched) follow(ctx context.Context, b *bus.Bus) error {
	w.results, w.began, w.spans = map[string]int{}, map[string]time.Time{}, map[string][][2]time.Time{}
	for m, err := range b.Tail(ctx, bus.RunFilter("r1"), 0) {
		if err != nil {
			return err
		}
		for _, e := range wire.DecodeEvents(m) {
			if ended, err := w.see(e); ended || err != nil {
				return err
			}
		}
	}
	return ctx.Err()
}

func (w *watched) see(e contextscope.Event) (ended bool, err error) {
	switch e.Kind {
	case contextscope.KindStarted:
		w.began[e.Agent] = e.Time
	case contextscope.KindResult:
		w.results[e.Agent]++
		w.spans[e.Role] = append(w.spans[e.Role], [2]time.Time{w.began[e.Agent], e.Time})
	case contextscope.KindRun:
		var d run.Data
		err = json.Unmarshal(e.Data, &d)
		ended = d.State.Ended()
	}
	return ended, err
}

func overlap(a, b [][2]time.Time) bool {
	return slices.ContainsFunc(a, func(x [2]time.Time) bool {
		return slices.ContainsFunc(b, func(y [2]time.Time) bool { return x[0].Before(y[1]) && y[0].Before(x[1]) })
	})
}

func TestAFailingAttemptIsToldWhyAndTheNextOneLands(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", `cat > in.json.tmp; if grep -q '"class":"gate"' in.json.tmp; then echo good > f00.txt; else echo bad > f00.txt; fi; rm in.json.tmp`)
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q bad f00.txt; then echo 'error: it is bad'; exit 1; fi"}
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}})
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	v := st.Tasks.ByID["one"]
	require.Equal(t, 2, v.Attempt)
	require.Len(t, v.Faults, 1)
	require.Equal(t, "gate", v.Faults[0].Fault.Class)
	require.NotEmpty(t, v.Faults[0].Fault.Signatures)
	require.Equal(t, "good\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt"))
}

// A command that reads its task may do better the second time. The patch that was rejected is not tested again.
func TestTheSamePatchAgainParksAndTheRunGoesOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Roles["bad"] = command("bad", "echo bad > f00.txt")
		s.Roles["mod"] = command("mod", "echo new > f01.txt")
		s.Project.Gates[0].Command = []string{"sh", "-c", "if grep -q bad f00.txt; then echo 'error: it is bad'; exit 1; fi"}
		s.Plan = planOf(
			spec.Task{ID: "one", Role: "bad", Brief: "b", Files: []string{"f00.txt"}, Attempts: 9},
			spec.Task{ID: "two", Role: "mod", Brief: "b", Files: []string{"f01.txt"}},
			spec.Task{ID: "three", Role: "mod", Brief: "b", DependsOn: []string{"one"}, Files: []string{"f01.txt"}},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status)
	require.Equal(t, run.TaskParked, st.Tasks.ByID["one"].State)
	require.Equal(t, 2, st.Tasks.ByID["one"].Attempt)
	require.Contains(t, st.Tasks.ByID["one"].Reason, "its command made the patch again that was rejected: ")
	require.Equal(t, run.TaskLanded, st.Tasks.ByID["two"].State)
	require.Contains(t, st.Tasks.ByID["three"].Reason, "depends on one")
	require.Equal(t, []string{"two"}, r.landed())
}

func TestAConflictIsRegeneratedOnTheNewHead(t *testing.T) {
	t.Parallel()
	r := newRig(t, map[string]string{"list.txt": "begin\nend\n"}, func(s *run.Spec) {
		s.Roles["add"] = command("add", `sleep 0.3; sed -i "s/^end/$DIVISI_TASK\nend/" list.txt`)
		s.Plan = planOf(spec.Task{ID: "a", Role: "add", Brief: "b"}, spec.Task{ID: "b", Role: "add", Brief: "b"})
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.ElementsMatch(t, []string{"a", "b"}, r.landed())
	require.Equal(t, 3, st.Tasks.ByID["a"].Attempt+st.Tasks.ByID["b"].Attempt, "one of the two was regenerated")
	text := sh(t, r.checkout.Top, "git show divisi/r1:list.txt")
	require.True(t, strings.Contains(text, "a\n") && strings.Contains(text, "b\n"), text)
}

func TestSlowARedBatchIsCutDownToTheOneToBlame(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(4), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo $DIVISI_TASK > $DIVISI_FILES")
		// Each is green alone; all and three together are red.
		s.Project.Gates[0].Command = []string{
			"sh", "-c",
			"sleep 0.2; if grep -q t0 f00.txt && grep -q t3 f03.txt; then echo 'error: both'; exit 1; fi",
		}
		s.Plan = planOf(
			spec.Task{ID: "t0", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "t1", Role: "mod", Brief: "b", Files: []string{"f01.txt"}},
			spec.Task{ID: "t2", Role: "mod", Brief: "b", Files: []string{"f02.txt"}},
			spec.Task{ID: "t3", Role: "mod", Brief: "b", Files: []string{"f03.txt"}, Attempts: 2},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status)
	require.Len(t, r.landed(), 3)
	parked := 0
	for _, id := range []string{"t0", "t3"} {
		if st.Tasks.ByID[id].State == run.TaskParked {
			parked++
		}
	}
	require.Equal(t, 1, parked, "one of the pair landed, the other is parked")
}

func TestRedBeforeIsNobodysFault(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt")
		s.Project.Gates[0].Command = []string{"sh", "-c", "echo 'f00.txt:1: red from the start'; exit 1"}
		s.Project.Gates[0].Format = gate.FormatFindings
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b"})
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, spec.VerdictBaseline, st.Final[0].Verdict)
}

func TestAPatchOutsideTheWriteSetNeverLands(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(2), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo new > f00.txt; echo new > f01.txt")
		s.Plan = planOf(spec.Task{ID: "one", Role: "mod", Brief: "b", Files: []string{"f00.txt"}, Attempts: 1})
	})
	st := r.run(t.Context())
	require.Equal(t, run.Parked, st.Status)
	require.Contains(t, st.Tasks.ByID["one"].Reason+st.Tasks.ByID["one"].Faults[0].Fault.Detail+st.Tasks.ByID["one"].Faults[0].Fault.Message, "f01.txt")
	require.Zero(t, r.publishes.Load(), "nothing landed, nothing was published")
}

func TestOverlappingTasksTakeTurns(t *testing.T) {
	t.Parallel()
	r := newRig(t, files(1), func(s *run.Spec) {
		s.Roles["mod"] = command("mod", "echo $DIVISI_TASK >> f00.txt")
		s.Plan = planOf(
			spec.Task{ID: "a", Role: "mod", Brief: "b", Files: []string{"f00.txt"}},
			spec.Task{ID: "b", Role: "mod", Brief: "b", Files: []string{"f*.txt"}},
		)
	})
	st := r.run(t.Context())
	require.Equal(t, run.Done, st.Status, st.Reason)
	require.Equal(t, []string{"a", "b"}, r.landed())
	require.Equal(t, 1, st.Tasks.ByID["b"].Attempt, "no conflict: b began when a had landed")
	require.Equal(t, "old\na\nb\n", sh(t, r.checkout.Top, "git show divisi/r1:f00.txt"))
}
