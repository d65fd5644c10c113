package publish

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/orchestrator/forge"
	"divisi/orchestrator/pull"
	"divisi/orchestrator/run"
)

// world is a forge, a remote and the log of a run, which outlive the processes of a test.
type world struct {
	mu       sync.Mutex
	forge    *forge.Memory
	branches map[string]string
	log      []contextscope.Event
	now      time.Time
	// between is asked between any two calls.
	between func(call string) error
}

func newWorld(queue bool) *world {
	w := &world{
		branches: map[string]string{}, now: time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC),
		between: func(string) error { return nil },
	}
	w.forge = forge.NewMemory(forge.Repository{Name: "o/r", URL: "https://forge.example/o/r", Queue: queue, AutoMerge: true})
	w.forge.Heads = func(branch string) string { w.mu.Lock(); defer w.mu.Unlock(); return w.branches[branch] }
	w.forge.Now = func() time.Time { return w.now }
	w.forge.Before = func(call string) error { return w.between("before " + call) }
	w.forge.After = func(call string) error { return w.between("after " + call) }
	return w
}

// Head implements Branches.
func (w *world) Head(_ context.Context, branch string) (string, error) {
	if err := w.between("before head"); err != nil {
		return "", err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.branches[branch], nil
}

// Push implements Branches.
func (w *world) Push(_ context.Context, branch, commit, had string) error {
	if err := w.between("before push"); err != nil {
		return err
	}
	w.mu.Lock()
	at := w.branches[branch]
	if at == had {
		w.branches[branch] = commit
	}
	w.mu.Unlock()
	if at != had {
		return errors.New("stale")
	}
	return w.between("after push")
}

// publisher is a process that has just begun, with the log as it is.
func (w *world) publisher(t *testing.T) *Publisher {
	st := run.NewState()
	for i := range w.log {
		require.NoError(t, st.Apply(&w.log[i]))
	}
	return &Publisher{
		Forge: w.forge, Branches: w, Pulls: func() run.Pulls { return st.Pulls }, Now: func() time.Time { return w.now },
		Labels: []string{"refactor"}, Reviewers: []string{"ann"}, Auto: true,
		Wait: func(_ context.Context, _ Item, until time.Time) error { w.now = until; return nil },
		Note: func(_ context.Context, d run.PullData) error {
			if err := w.between("before note"); err != nil {
				return err
			}
			data, err := json.Marshal(d)
			require.NoError(t, err)
			e := contextscope.Event{Kind: contextscope.KindPull, Pos: st.Pos + 1, Time: w.now, Data: data}
			require.NoError(t, st.Apply(&e))
			w.log = append(w.log, e)
			return w.between("after note")
		},
	}
}

// killed is what a process that was killed panics with.
type killed struct{}

// put runs a process that may be killed, and reports whether it was.
func (w *world) put(t *testing.T, it Item) (dead bool, err error) {
	defer func() {
		if why := recover(); why != nil {
			require.Equal(t, killed{}, why)
			dead = true
		}
	}()
	return false, w.publisher(t).Put(t.Context(), it)
}

func item(commit string) Item {
	return Item{
		PullData: run.PullData{Head: "divisi/r", Base: "main", Tasks: []string{"a"}, Commit: commit, Tree: "t" + commit},
		Title:    "Rename " + commit, Body: "Body of " + commit,
	}
}

// holds checks that there is one pull request, as it is to be, and that the log knows it.
func (w *world) holds(t *testing.T, it Item) {
	t.Helper()
	all := w.forge.All()
	require.Len(t, all, 1)
	p, known := all[0], w.publisher(t).Pulls()["divisi/r"]
	require.Equal(t, []any{it.Title, it.Commit}, []any{p.Title, p.HeadSHA})
	require.Equal(t, [][]string{{"refactor"}, {"ann"}}, [][]string{p.Labels, p.Reviewers})
	require.True(t, Unchanged(p.Title, p.Body) && (p.Queued || p.Auto))
	require.Equal(t, []any{p.Number, it.Commit, "", run.PullStateOpen}, []any{known.Number, known.HeadSHA, known.Doing, known.State})
}

// A process that is killed between any two calls, or whose forge answers with an error after any write, leaves no twin, and the
// next one finishes its work.
func TestNoTwinAndNoneLost(t *testing.T) {
	t.Parallel()
	kills := 0
	for name, fail := range map[string]func() error{
		"killed":    func() error { panic(killed{}) },
		"uncertain": func() error { return fmt.Errorf("502: %w", forge.ErrUncertain) },
	} {
		for _, queue := range []bool{false, true} {
			for _, made := range []bool{false, true} {
				for at := 1; ; at++ {
					w, n := newWorld(queue), 0
					if made {
						require.NoError(t, w.publisher(t).Put(t.Context(), item("1")))
					}
					w.between = func(string) error {
						if n++; n == at {
							return fail()
						}
						return nil
					}
					dead, _ := w.put(t, item("2"))
					if n < at {
						break
					}
					kills++
					require.Equal(t, name == "killed", dead)
					w.between = func(string) error { return nil }
					require.NoError(t, w.publisher(t).Put(t.Context(), item("2")))
					w.holds(t, item("2"))
					events, calls := len(w.log), w.forge.Calls("edit")+w.forge.Calls("open")+w.forge.Calls("merge")
					require.NoError(t, w.publisher(t).Put(t.Context(), item("2")), "a repetition")
					require.Len(t, w.log, events, "a repetition notes nothing")
					require.Equal(t, calls, w.forge.Calls("edit")+w.forge.Calls("open")+w.forge.Calls("merge"))
				}
			}
		}
	}
	t.Logf("%d kills and errors", kills)
	require.Greater(t, kills, 60)
}

// Two processes that do not know of each other make one pull request.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(true)
	one, other := w.publisher(t), newWorld(true).publisher(t)
	other.Forge, other.Branches = w.forge, w
	var all sync.WaitGroup
	for _, p := range []*Publisher{one, other} {
		all.Go(func() {
			for range 3 {
				if err := p.Put(t.Context(), item("1")); err == nil {
					return
				}
			}
		})
	}
	all.Wait()
	require.Len(t, w.forge.All(), 1)
	require.Equal(t, 1, one.Pulls()["divisi/r"].Number)
	require.Equal(t, 1, other.Pulls()["divisi/r"].Number)
}

// What people did stays: their commits, their text, a pull request that they closed.
func TestWhatPeopleDidStays(t *testing.T) {
	t.Parallel()
	w := newWorld(false)
	require.NoError(t, w.publisher(t).Put(t.Context(), item("1")))
	w.branches["divisi/r"] = "ann's"
	require.ErrorIs(t, w.publisher(t).Put(t.Context(), item("2")), ErrForeign)
	require.Equal(t, "ann's", w.branches["divisi/r"])
	p := w.publisher(t)
	require.NoError(t, p.Note(t.Context(), run.PullData{Head: "divisi/r", Theirs: []string{"ann's"}}))
	w.forge.Set(1, func(p *forge.Pull) { p.Title, p.Labels = "Ann's title", nil })
	require.NoError(t, p.Put(t.Context(), item("3")))
	require.Equal(t, "Ann's title", w.forge.All()[0].Title)
	require.Empty(t, w.forge.All()[0].Labels)
	require.Equal(t, "3", w.branches["divisi/r"])

	w.forge.Set(1, func(p *forge.Pull) { p.State = forge.Closed })
	require.NoError(t, w.publisher(t).Put(t.Context(), item("4")))
	require.Equal(t, "3", w.branches["divisi/r"])
	require.Equal(t, run.PullStateClosed, w.publisher(t).Pulls()["divisi/r"].State)
	require.Len(t, w.forge.All(), 1)
}

// What has landed since a pull request was merged gets another one, also after a kill, and what was merged none.
func TestWhatLandedSinceAMerge(t *testing.T) {
	t.Parallel()
	for at := 1; ; at++ {
		w, n := newWorld(false), 0
		require.NoError(t, w.publisher(t).Put(t.Context(), item("1")))
		w.forge.Set(1, func(p *forge.Pull) { p.State, p.MergeSHA = forge.Merged, "m" })
		require.NoError(t, w.publisher(t).Look(t.Context()))
		require.NoError(t, w.publisher(t).Put(t.Context(), item("1")))
		require.Len(t, w.forge.All(), 1)
		w.between = func(string) error {
			if n++; n == at {
				panic(killed{})
			}
			return nil
		}
		dead, _ := w.put(t, item("2"))
		w.between = func(string) error { return nil }
		require.NoError(t, w.publisher(t).Put(t.Context(), item("2")))
		all := w.forge.All()
		require.Len(t, all, 2)
		require.Equal(t, []string{"2", forge.Open}, []string{all[1].HeadSHA, all[1].State})
		require.Equal(t, 2, w.publisher(t).Pulls()["divisi/r"].Number)
		if !dead {
			require.Greater(t, at, 10)
			return
		}
	}
}

// A merged pull request is no answer to the opening of the next one: what the forge refuses is not published.
func TestARefusalAfterAMerge(t *testing.T) {
	t.Parallel()
	for _, refusal := range []error{forge.ErrForbidden, forge.ErrUncertain} {
		w := newWorld(false)
		require.NoError(t, w.publisher(t).Put(t.Context(), item("1")))
		w.forge.Set(1, func(p *forge.Pull) { p.State, p.MergeSHA = forge.Merged, "m" })
		w.between = func(call string) error {
			if call == "before open" {
				return refusal
			}
			return nil
		}
		require.ErrorIs(t, w.publisher(t).Put(t.Context(), item("2")), refusal)
		require.False(t, w.publisher(t).Pulls()["divisi/r"].EndedWith("2"))
		w.between = func(string) error { return nil }
		require.NoError(t, w.publisher(t).Put(t.Context(), item("2")))
		require.Len(t, w.forge.All(), 2)
	}
}

// Pull requests are opened at the pace that is asked for, also by the next process.
func TestPace(t *testing.T) {
	t.Parallel()
	w, began := newWorld(false), time.Date(2026, 11, 1, 9, 0, 0, 0, time.UTC)
	for i := range 45 {
		p, it := w.publisher(t), item("1")
		p.Pace, it.Head = pull.Pace{PerHour: 20}, fmt.Sprintf("divisi/r-%d", i)
		require.NoError(t, p.Put(t.Context(), it))
	}
	require.Len(t, w.forge.All(), 45)
	require.Equal(t, 2*pull.Window, w.now.Sub(began))
	p := w.publisher(t)
	p.Pace.MaxOpen = 45
	require.ErrorIs(t, p.Put(t.Context(), item("1")), ErrFull)
	require.Empty(t, w.branches["divisi/r"])
}

// An error after the write was done is none: what the forge and the remote have then counts. An error before it is tried again
// where the forge may have written, and not where it refuses.
func TestAnErrorAfterTheWriteIsNone(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		at    string
		err   error
		opens int
		fails bool
	}{
		{"after open", forge.ErrUncertain, 1, false},
		{"after push", forge.ErrUncertain, 1, false},
		{"after merge", forge.ErrUncertain, 1, false},
		{"before open", forge.ErrUncertain, 1, false},
		{"before open", forge.ErrForbidden, 0, true},
		{"before push", forge.ErrForbidden, 0, true},
	} {
		t.Run(c.at+" "+c.err.Error(), func(t *testing.T) {
			t.Parallel()
			w, done := newWorld(false), false
			w.between = func(call string) error {
				if call != c.at || done {
					return nil
				}
				done = true
				return fmt.Errorf("%s: %w", call, c.err)
			}
			err := w.publisher(t).Put(t.Context(), item("1"))
			require.True(t, done)
			require.Equal(t, c.fails, err != nil, err)
			require.Equal(t, c.opens, w.forge.Calls("open"))
		})
	}
}
