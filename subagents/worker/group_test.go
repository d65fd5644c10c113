package worker

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/subagents/journal"
	"divisi/subagents/wire"

	"github.com/stretchr/testify/require"
)

// joins is a role whose script gets the files of many tasks as "$@": one of them, then of all that wait.
func joins(script string) spec.Role {
	return spec.Role{
		Name: "mod", Executor: spec.ExecutorCommand, Command: []string{"sh", "-c", script, "sh", spec.ArgFiles}, Writes: true,
		Concurrency: 1,
	}
}

// shards are tasks of one template with the files of each.
func (s *site) shards(role spec.Role, group string, files ...[]string) []*wire.Assignment {
	all := make([]*wire.Assignment, len(files))
	for i, f := range files {
		all[i] = s.assignment(role, fmt.Sprintf("%s-%03d", group, i+1))
		all[i].Task.Files, all[i].Task.Title, all[i].Group = f, fmt.Sprint("shard ", i), group
	}
	return all
}

// single is n tasks of one new file each.
func single(n int) [][]string {
	files := make([][]string, n)
	for i := range files {
		files[i] = []string{fmt.Sprintf("new/f%03d.txt", i)}
	}
	return files
}

// results carries assignments out with one worker.
func (s *site) results(all []*wire.Assignment) []spec.Result {
	for _, a := range all {
		s.enqueue(a)
	}
	w := s.work(nil, "mod")
	out := make([]spec.Result, len(all))
	for i, a := range all {
		out[i] = s.result(a)
	}
	s.settled(w)
	return out
}

// content is what the patch of a task made of a file.
func (s *site) content(p *spec.Patch, file string) string {
	s.t.Helper()
	require.NoError(s.t, fetch(s.t.Context(), s.mirror, s.bus, p))
	text, err := s.mirror.ReadFile(s.t.Context(), p.Commit, file, 1<<20)
	require.NoError(s.t, err)
	return string(text)
}

func TestManyShardsAreOneProcess(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(14)
	role := joins(`read -r input; mkdir -p new; for f; do echo "$$ ${DIVISI_TASK-none} ${DIVISI_ATTEMPT-none} $input" > "$f"; done`)
	all := s.shards(role, "t", files...)
	processes, alone := map[string]int{}, 0
	for i, r := range s.results(all) {
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, files[i], r.Patch.Files)
		require.Equal(t, s.head, r.Patch.Base)
		said := strings.SplitN(s.content(r.Patch, files[i][0]), " ", 4)
		if r.Shared == nil {
			alone++
			require.Equal(t, all[i].Task.ID, said[1])
			require.Contains(t, said[3], `{"task":{"id":"`+all[i].Task.ID)
			continue
		}
		processes[r.Shared.First]++
		require.Equal(t, []string{"none", "none"}, said[1:3])
		require.True(t, strings.HasPrefix(said[3], `{"tasks":[{"id":"t-0`), said[3])
		require.Contains(t, said[3], `"id":"`+all[i].Task.ID+`"`)
		require.Contains(t, said[3], `"prior":[]`)
		require.NotContains(t, said[3], `"task":`)
	}
	require.Less(t, len(processes)+alone, len(all)/2, "%v", processes)
}

func TestAShardOfAGroupFailsAlone(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("many attempts")
	}
	const bad = `case "$f" in *7.txt|*2.txt) `
	for name, tt := range map[string]struct{ script, class, detail string }{
		"fails":    {`echo no $f; exit 3;;`, wire.FaultCommand, "no new/f0"},
		"outside":  {`echo x > outside.txt;;`, wire.FaultWriteSet, "outside.txt"},
		"of b":     {`mkdir new/f9; echo x > new/f9/$$;;`, wire.FaultWriteSet, "new/f9"},
		"renames":  {`mv "$f" "$f.moved"; mkdir -p sub; mv sub/b.txt sub/c.txt;;`, wire.FaultWriteSet, "sub/b.txt"},
		"too much": {`truncate -s 70M "$f";;`, wire.FaultCommand, "MiB"},
		"git":      {`unset GIT_DIR GIT_WORK_TREE; git init -q new/repo; echo > new/repo/x;;`, wire.FaultCommand, "git repositories"},
		"kills":    {`kill -9 $$;;`, wire.FaultCommand, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			files := single(10)
			role := joins(`mkdir -p new; for f; do echo fine > "$f"; ` + bad + tt.script + ` esac; done`)
			for i, r := range s.results(s.shards(role, "t", files...)) {
				require.Equal(t, 1, r.Delivery)
				if i != 2 && i != 7 {
					require.Equal(t, spec.StatusDone, r.Status, "%d %+v", i, r.Error)
					require.Equal(t, files[i], r.Patch.Files)
					require.Equal(t, "fine\n", s.content(r.Patch, files[i][0]))
					continue
				}
				require.Equal(t, spec.StatusFailed, r.Status)
				require.Equal(t, tt.class, r.Error.Class)
				require.Contains(t, r.Error.Message+r.Error.Detail, tt.detail)
				require.Nil(t, r.Shared)
			}
		})
	}
}

// Programs that treat files independently leave the same trees, however their tasks are put together.
func TestSlowGroupsMakeTheSamePatches(t *testing.T) {
	t.Parallel()
	const script = `for f; do
		case "$f" in *x*) rm -f "$f"; continue;; esac
		mkdir -p "$(dirname "$f")"; cksum < "$f" >> "$f" 2>/dev/null || echo "new $f" > "$f"
		case "$f" in *m*) chmod +x "$f";; esac
	done`
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			random := rand.New(rand.NewPCG(seed, 1))
			files := randomShards(random)
			s := newSite(t)
			joint := s.shards(joins(script), "joint", files...)
			apart := s.shards(joins(script), "apart", files...)
			for _, a := range apart {
				a.Group = ""
			}
			results := s.results(append(joint, apart...))
			shared := 0
			for i := range joint {
				one, other := results[i], results[len(joint)+i]
				require.Equal(t, spec.StatusDone, one.Status, "%+v", one.Error)
				if one.Shared != nil {
					shared++
				}
				if other.Patch == nil {
					require.Nil(t, one.Patch)
					continue
				}
				require.Equal(t, other.Patch.Tree, one.Patch.Tree, files[i])
				require.Equal(t, other.Patch.Files, one.Patch.Files)
				require.Equal(t, []int{other.Patch.Added, other.Patch.Deleted}, []int{one.Patch.Added, one.Patch.Deleted})
			}
			require.Positive(t, shared)
		})
	}
}

// randomShards divides files. Some are not there, and some have odd names.
func randomShards(random *rand.Rand) [][]string {
	files := []string{"a.txt", "sub/b.txt", "b_test.txt", "-dash x", "sp ace", "quo'te\"m", "$HOME", "ü/ñ", "a[b]c", "-", "x"}
	for i := range 10 {
		files = append(files, fmt.Sprintf("%s/%d%s", strings.Repeat("d", random.IntN(200)+1), i, strings.Repeat("m", random.IntN(250))))
	}
	random.Shuffle(len(files), func(i, j int) { files[i], files[j] = files[j], files[i] })
	var shards [][]string
	for len(files) > 0 {
		n := min(len(files), 1+random.IntN(4))
		shards, files = append(shards, files[:n]), files[n:]
	}
	return shards
}

func TestAListOfIgnoredFilesHidesNoOtherShard(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(10)
	files[3] = []string{"new/.gitignore"}
	role := joins(`mkdir -p new; for f; do echo '*.txt' > "$f"; done`)
	for i, r := range s.results(s.shards(role, "t", files...)) {
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.NotNil(t, r.Patch, "%s is lost", files[i])
		require.Equal(t, files[i], r.Patch.Files)
	}
}

// begun calls do when all attempts have begun, and waits for the results of the first n.
func (s *site) begun(all []*wire.Assignment, n int, do func(first *Worker)) (*Worker, []spec.Result) {
	for _, a := range all {
		s.enqueue(a)
	}
	w := s.work(nil, "mod")
	for _, a := range all {
		for e := range s.tail(s.t.Context(), a) {
			if e.Kind == contextscope.KindStarted {
				break
			}
		}
	}
	do(w)
	out := make([]spec.Result, n)
	for i := range out {
		out[i] = s.result(all[i])
	}
	return w, out
}

func TestACancelledTaskIsCutOutOfItsGroup(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(4)
	all := s.shards(joins(`mkdir -p new; for f; do echo x > "$f"; done; [ $# -lt 2 ] || sleep 2`), "t", files...)
	w, results := s.begun(all, 4, func(*Worker) {
		stop, err := json.Marshal(wire.Control{Verb: wire.ControlCancel, Task: all[3].Task.ID, Attempt: 1, Text: "not wanted"})
		require.NoError(t, err)
		filter := bus.AttemptFilter("r1", "mod", all[3].Task.ID, 1)
		require.Eventually(t, func() bool { // a message that comes too early is lost
			require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), stop))
			events, _, err := journal.ReadSession(t.Context(), s.bus, filter)
			return err == nil && strings.HasSuffix(kinds(events), "result")
		}, time.Minute, 10*time.Millisecond)
	})
	for i, r := range results[:3] {
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, files[i], r.Patch.Files)
	}
	require.Equal(t, spec.StatusCancelled, results[3].Status)
	require.Nil(t, results[3].Patch)
	s.settled(w)
}

func TestAGroupEndsWithAllOfItsTasks(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := s.shards(joins(`mkdir -p new; for f; do echo x > "$f"; done; [ $# -lt 2 ] || sleep 1000`), "t", single(4)...)
	w, results := s.begun(all, 4, func(w *Worker) {
		require.Eventually(t, func() bool {
			return slices.Contains(w.Active(), all[2].Task.ID) && slices.Contains(w.Active(), all[3].Task.ID)
		},
			time.Minute, 10*time.Millisecond, "it tells all tasks that it is at")
		stop, err := json.Marshal(wire.Control{Verb: wire.ControlCancel, Text: "the run is cancelled"})
		require.NoError(t, err)
		require.Eventually(t, func() bool {
			require.NoError(t, s.bus.Publish(t.Context(), bus.ControlSubject("r1"), stop))
			queued, err := s.bus.Queued(t.Context(), "task.>")
			return err == nil && len(queued) == 0
		}, time.Minute, 10*time.Millisecond)
	})
	for _, r := range results[1:] {
		require.Equal(t, spec.StatusCancelled, r.Status)
		require.Less(t, r.Took, groupTime, "the group ended before its time limit")
	}
	s.settled(w)
	require.Empty(t, w.Active())
}

func TestAGroupThatHangsIsHalved(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(4)
	all := s.shards(joins(`mkdir -p new; for f; do case "$f" in *3.txt) sleep 100;; esac; echo x > "$f"; done`), "t", files...)
	for _, a := range all {
		a.Task.Limits.Time = spec.Duration(2 * time.Second)
	}
	for i, r := range s.results(all) {
		require.Equal(t, 1, r.Delivery)
		if i == 3 {
			require.Equal(t, spec.StatusTimedOut, r.Status)
			continue
		}
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, files[i], r.Patch.Files)
	}
}

func TestAGroupGoesOnWithAnotherWorker(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(6)
	all := s.shards(joins(`mkdir -p new; for f; do echo x > "$f"; done; [ $# -lt 2 ] || sleep 2`), "t", files...)
	_, results := s.begun(all, len(all), func(first *Worker) {
		first.Stop()
		s.work(nil, "mod")
	})
	for i, a := range all {
		r := results[i]
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, files[i], r.Patch.Files)
		ends := 0
		events, _, err := journal.ReadSession(t.Context(), s.bus, bus.AttemptFilter("r1", "mod", a.Task.ID, 1))
		require.NoError(t, err)
		for _, e := range events {
			if e.Kind == contextscope.KindResult {
				ends++
			}
		}
		require.Equal(t, 1, ends)
	}
}

// A worker that was lost with its group may have been lost because of one of its tasks.
func TestAThirdDeliveryRunsAlone(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := s.shards(joins(`mkdir -p new; for f; do echo x > "$f"; done`), "t", single(6)...)
	for i, a := range all {
		begun := wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 1 + i%2})
		begun.Time = time.Now()
		data, err := wire.EncodeEvents([]contextscope.Event{begun})
		require.NoError(t, err)
		_, err = s.bus.Append(t.Context(), bus.AttemptSubject("r1", wire.LocalName, "mod", a.Task.ID, 1), data, 0)
		require.NoError(t, err)
	}
	for i, r := range s.results(all) {
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, 2+i%2, r.Delivery)
		require.Equal(t, i%2 == 0 && i > 0, r.Shared != nil, "task %d", i)
	}
}

func TestAnOvertakenTaskOfAGroupLeavesNoTrace(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	files := single(4)
	all := s.shards(joins(`mkdir -p new; for f; do echo x > "$f"; done; [ $# -lt 2 ] || sleep 2`), "t", files...)
	over := all[3]
	w, results := s.begun(all, 3, func(*Worker) {
		last, err := s.bus.Last(t.Context(), bus.AttemptFilter("r1", "mod", over.Task.ID, 1))
		require.NoError(t, err)
		data, err := wire.EncodeEvents([]contextscope.Event{wire.Draft(contextscope.KindStarted, wire.Started{Delivery: 7})})
		require.NoError(t, err)
		_, err = s.bus.Append(t.Context(), last.Subject, data, last.Pos)
		require.NoError(t, err)
	})
	for i, r := range results {
		require.Equal(t, spec.StatusDone, r.Status, "%+v", r.Error)
		require.Equal(t, files[i], r.Patch.Files)
	}
	w.Stop()
	events, _, err := journal.ReadSession(t.Context(), s.bus, bus.AttemptFilter("r1", "mod", over.Task.ID, 1))
	require.NoError(t, err)
	require.Equal(t, "started started", kinds(events))
}

// TestAGroupThatWaitsForRoomBegins: who holds a task for long without an event of its own loses it.
func TestAGroupThatWaitsForRoomBegins(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	all := s.shards(joins(`mkdir -p new; for f; do echo fine > "$f"; done`), "t", single(3)...)
	for _, a := range all {
		s.enqueue(a)
	}
	w := s.work(nil)
	busy := []*permit{{room: w.agents}, {room: w.agents}}
	for _, p := range busy {
		require.True(t, p.take(t.Context()))
	}
	g := newGathering(w)
	g.patience = time.Millisecond
	q, err := s.bus.Queue(t.Context(), "mod", bus.QueueOptions{AckWait: w.cfg.AckWait, MaxDeliver: -1})
	require.NoError(t, err)
	for range all {
		d, err := q.Next(t.Context())
		require.NoError(t, err)
		require.True(t, g.add(t.Context(), d))
	}
	for _, a := range all {
		require.Eventually(t, func() bool {
			m, err := s.bus.Last(t.Context(), bus.AttemptFilter(a.Run, a.Role.Name, a.Task.ID, a.Attempt))
			return err == nil && m != nil && wire.DecodeEvents(*m)[0].Kind == contextscope.KindStarted
		}, time.Minute, 10*time.Millisecond)
	}
	require.False(t, g.any())
	require.Eventually(t, func() bool { g.mu.Lock(); defer g.mu.Unlock(); return g.begun == 3 && g.files == 3 }, time.Minute, time.Millisecond)
	for _, p := range busy {
		p.leave()
	}
	for _, a := range all {
		r := s.result(a)
		require.Equal(t, spec.StatusDone, r.Status)
		require.Positive(t, r.Queued)
	}
	s.settled(w)
	require.Zero(t, g.begun)
	require.Zero(t, g.files)
}
