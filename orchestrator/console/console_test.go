package console

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"charm.land/lipgloss/v2"
	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/feed"
)

// middle is where in the sample four agents are at work.
const middle = 230

func at(events []contextscope.Event) func() time.Time {
	return func() time.Time { return events[len(events)-1].Time }
}

// pass lets a bubble's time go by, and everything that is due then happen.
func pass(d time.Duration) {
	time.Sleep(d) //nolint:forbidigo // a bubble's time is not ours
	synctest.Wait()
}

func event(kind contextscope.Kind, task string, data any) contextscope.Event {
	raw, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	return contextscope.Event{ID: "e", Run: "r", Kind: kind, Task: task, Data: raw}
}

func TestPlainLines(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	events := readSample(t)
	c := New(Options{Out: &out, Zone: time.UTC, Now: at(events)})
	c.Handle(events)
	require.NoError(t, c.Close())
	require.NoError(t, c.Close(), "twice is fine")
	c.Handle(events)
	require.NotContains(t, out.String(), "\x1b")
	golden(t, "testdata/plain.txt", out.Bytes())
}

func TestJSONIsTheLog(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	events := readSample(t)
	c := New(Options{Out: &out, TTY: true, JSON: true})
	c.Handle(events)
	_, err := c.Write([]byte("a log line\n"))
	require.Error(t, err)
	_, err = c.Approve(t.Context(), strings.NewReader("y\n"), Question{})
	require.ErrorContains(t, err, "approved beforehand")
	require.NoError(t, c.Close())
	lines := strings.SplitAfter(out.String(), "\n")
	require.Len(t, lines, len(events)+1)
	for i, e := range events {
		want, err := json.Marshal(e)
		require.NoError(t, err)
		require.JSONEq(t, string(want), lines[i])
		require.Contains(t, lines[i], fmt.Sprintf(`"pos":%d,`, e.Pos))
	}
}

func TestLivePart(t *testing.T) {
	t.Parallel()
	events := readSample(t)[:middle]
	for _, width := range []int{200, 120, 80, 40, 20} {
		t.Run(fmt.Sprint(width), func(t *testing.T) {
			t.Parallel()
			v := feed.Follow()
			for i := range events {
				v.Apply(&events[i])
			}
			l := &live{}
			lines := l.lines(statusOf(v, at(events)(), 23), width-1, at(events)())
			for _, s := range lines {
				require.Less(t, lipgloss.Width(s), width, "%q", s)
			}
			golden(t, fmt.Sprintf("testdata/live%d.txt", width), []byte(strings.Join(lines, "\n")+"\n"))
		})
	}
}

// TestNoSizeBreaks draws every moment of the run in every odd size.
func TestNoSizeBreaks(t *testing.T) {
	t.Parallel()
	events := readSample(t)
	for _, size := range [][2]int{{1, 1}, {10, 3}, {20, 7}, {33, 24}, {300, 9}} {
		v, l := feed.Follow(), &live{paint: paint{color: true}}
		for i := range events {
			v.Apply(&events[i])
			if i%5 == 0 {
				require.LessOrEqual(t, len(l.lines(statusOf(v, events[i].Time, size[1]), size[0], events[i].Time)), size[1])
			}
		}
	}
}

// TestTerminal plays the run on a terminal that changes its width, and inspects what is left on it.
func TestTerminal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := readSample(t)
		screen := newTerminal(t, 100)
		c := New(Options{
			Out: screen, TTY: true, Color: true, Zone: time.UTC, Now: at(events[:middle]), Width: screen.size,
		})
		for i := range events[:middle] {
			c.Handle(events[i : i+1])
			if i == 150 {
				synctest.Wait()
				screen.resize(60)
			}
			pass(3 * redrawPause / 2)
			_, seen := screen.drawn()
			require.True(t, seen, "the cursor is seen between frames")
		}
		shown := screen.text()
		require.Equal(t, 1, strings.Count(shown, " landed · "), "one live part, no rests of others:\n%s", shown)
		require.Equal(t, 1, strings.Count(shown, "divisi 01KJ"), shown)
		require.Equal(t, 1, strings.Count(shown, "log-http will be retried"), shown)
		require.Less(t, strings.Index(shown, "log-http will be retried"), strings.Index(shown, " landed · "), "failures stand above")
		_, err := c.Write([]byte("a \x1b[31mlog line\n"))
		require.NoError(t, err)
		require.NoError(t, c.Close())
		require.NotContains(t, screen.text(), " a minute · ", "the live part is gone")
		require.Contains(t, screen.text(), "a log line\n")
		require.Contains(t, screen.text(), "Run 01KJPX3Q7R-slog is running")
	})
}

func TestRedrawsAreFewAndFailuresQuick(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := readSample(t)
		screen := newTerminal(t, 80)
		c := New(Options{Out: screen, TTY: true, Now: at(events)})
		for range 1000 {
			c.Handle(events[:1])
			pass(time.Millisecond)
		}
		frames, _ := screen.drawn()
		require.LessOrEqual(t, frames, 11)
		require.GreaterOrEqual(t, frames, 9)
		parked := run.TaskData{State: run.TaskParked, Reason: "no"}
		c.Handle([]contextscope.Event{event(contextscope.KindTask, "x", parked)})
		pass(redrawPause)
		require.Contains(t, screen.text(), "x is parked: no")
		before, _ := screen.drawn()
		pass(10 * time.Second)
		after, _ := screen.drawn()
		require.InDelta(t, 10, after-before, 1, "only the clock moves")
		require.NoError(t, c.Close())
	})
}

func TestApprove(t *testing.T) {
	t.Parallel()
	for answer, want := range map[string]Approval{
		"y\n": {Yes: true}, " yes \n": {Yes: true}, "n\n": {}, "\n": {}, "": {}, "yellow\n": {}, "yse\nY\n": {Yes: true}, "No\ny\n": {},
		"Leave the tests\x07 alone\ny\n": {Comment: "Leave the tests alone"}, "yes but\n": {Comment: "yes but"}, "e\ny\n": {Edited: true},
		"Edit\ny\n": {Edited: true}, "edit it\n": {Comment: "edit it"},
		"1\n": {Yes: true}, "approve\n": {Yes: true}, "2\nkeep a.txt\n": {Comment: "keep a.txt"}, "change\n\ny\n": {}, "3\n": {Edited: true},
		"4\ny\n": {}, "stop\n": {}, "5\n1\n": {Yes: true},
	} {
		var out bytes.Buffer
		c := New(Options{Out: &out})
		got, err := c.Approve(t.Context(), strings.NewReader(answer), Question{Plan: samplePlan(t), Edit: func() error { return nil }})
		require.NoError(t, err)
		require.Equal(t, want, got, "%q", answer)
		require.Contains(t, out.String(), "Run this plan?\n 1 approve: starts the plan\n 2 change: sends it back to the master with your sentence\n"+
			" 3 edit: opens it in your editor\n 4 stop: stops the run; a resume asks again\n"+
			"1 to 4, or the word; a sentence means change; Enter stops the run: ")
		require.NoError(t, c.Close())
	}
	c := New(Options{Out: io.Discard})
	_, err := c.Approve(t.Context(), iotest.ErrReader(errors.New("gone")), Question{Plan: samplePlan(t)})
	require.ErrorContains(t, err, "gone")
	require.NoError(t, c.Close())
}

// An editor that fails and a plan that is invalid cost nothing: the person is asked again.
func TestApproveAsksAgainAfterAnEditThatFailed(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out})
	tries := 0
	got, err := c.Approve(t.Context(), strings.NewReader("e\ne\ny\n"), Question{
		Plan: samplePlan(t), Refused: errors.New("plan.yaml: 1 error\n  plan.yaml:2:3: no\x1b[2J brief\n    | x\n    |  ^"),
		Edit: func() error {
			if tries++; tries == 1 {
				return errors.New("the editor failed")
			}
			return nil
		},
	})
	require.NoError(t, err)
	require.Equal(t, Approval{Edited: true}, got)
	require.NoError(t, c.Close())
	require.Equal(t, "plan.yaml: 1 error\n  plan.yaml:2:3: no\uFFFD[2J brief\n    | x\n    |  ^\n\n"+
		"The edited plan is invalid. Run the plan from before?\n 1 approve: starts the plan\n"+
		" 2 change: sends it back to the master with your sentence\n 3 edit: opens it in your editor\n"+
		" 4 stop: stops the run; a resume asks again\n1 to 4, or the word; a sentence means change; Enter stops the run: "+
		"the editor failed\n1 to 4, or the word; a sentence means change; Enter stops the run: ", out.String())
}

// TestApproveHoldsTheScreenStill: nothing is drawn over the question, and everything after the answer.
func TestApproveHoldsTheScreenStill(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := readSample(t)
		screen := newTerminal(t, 80)
		c := New(Options{Out: screen, TTY: true, Now: at(events)})
		c.Handle(events[:20])
		pass(time.Second)
		plan := samplePlan(t)
		in, answer := io.Pipe()
		got := make(chan bool)
		go func() {
			said, err := c.Approve(t.Context(), in, Question{Plan: plan})
			got <- said.Yes && err == nil
		}()
		synctest.Wait()
		still := screen.text()
		frames, _ := screen.drawn()
		c.Handle(events[20:middle])
		pass(5 * time.Second)
		require.Equal(t, still, screen.text())
		now, _ := screen.drawn()
		require.Equal(t, frames, now)
		_, err := answer.Write([]byte("y\n"))
		require.NoError(t, err)
		require.True(t, <-got)
		pass(time.Second)
		require.Contains(t, screen.text(), " landed · ")
		require.NoError(t, c.Close())
	})
}

// A run that ends while a person is asked: its end does not begin behind the question.
func TestCloseBelowAQuestion(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		c := New(Options{Out: &out})
		in, answer := io.Pipe()
		asked := make(chan error)
		go func() {
			_, err := c.Decide(t.Context(), in, Asked{})
			asked <- err
		}()
		synctest.Wait()
		require.NoError(t, c.Close())
		require.Contains(t, out.String(), "Enter leaves it open: \n")
		require.NoError(t, answer.Close())
		require.NoError(t, <-asked)
	})
}

func TestBrokenOutputIsToldOnce(t *testing.T) {
	t.Parallel()
	w := &brokenWriter{}
	c := New(Options{Out: w})
	c.Handle(readSample(t))
	require.ErrorIs(t, c.Err(), io.ErrClosedPipe)
	require.ErrorIs(t, c.Close(), io.ErrClosedPipe)
	require.Equal(t, 1, w.writes)
}

type brokenWriter struct{ writes int }

func (w *brokenWriter) Write([]byte) (int, error) {
	w.writes++
	return 0, io.ErrClosedPipe
}

// TestForeignTextIsHarmless puts an attack into every text that a repository, a model or a worker can name.
func TestForeignTextIsHarmless(t *testing.T) {
	t.Parallel()
	const evil = "\x1b]0;owned\x07\x1b[2Jx\r\ny\u202e"
	events := []contextscope.Event{
		event(contextscope.KindRun, "", run.Data{
			State: run.Running, Reason: evil, Notices: []string{evil}, Ref: evil, Head: evil,
			Spec: &run.Spec{Goal: evil, Roles: map[string]spec.Role{evil: {Writes: true}}},
		}),
		event(contextscope.KindPlan, "", run.PlanData{
			By: evil, Tasks: []spec.Task{{ID: evil, Title: evil, Role: evil}},
		}),
		event(contextscope.KindTask, evil, run.TaskData{State: run.TaskState(evil), Reason: evil}),
		event(contextscope.KindTask, evil, run.TaskData{State: run.TaskParked, Reason: evil}),
		event(contextscope.KindStarted, evil, map[string]any{"delivery": 2, "worker": evil}),
		event(contextscope.KindProgress, evil, map[string]any{"doing": evil}),
		event(contextscope.KindReceipt, evil, spec.Receipt{Gate: evil, Verdict: evil, Signatures: []string{evil}}),
		event(contextscope.KindRun, "", run.Data{Final: []spec.Receipt{{Gate: evil, Verdict: evil}}}),
	}
	for i := range events {
		events[i].Run, events[i].Role, events[i].Agent = evil, evil, evil
	}
	var out bytes.Buffer
	c := New(Options{Out: &out})
	c.Handle(events)
	require.NoError(t, c.Close())
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(t, 80) // it fails on every instruction that is not the live part's own
		live := New(Options{Out: screen, TTY: true})
		live.Handle(events)
		pass(time.Second)
		require.NoError(t, live.Close())
		out.WriteString(screen.text())
	})
	require.NotContains(t, out.String(), "owned")
	require.NotContains(t, out.String(), "\u202e")
	require.Empty(t, strings.Trim(out.String(), printable(out.String())))
}

// A run that waits for a person is waiting in the title and above the table, and its clock stands still.
func TestWaitingIsShown(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		screen := newTerminal(t, 80)
		live := New(Options{Out: screen, TTY: true})
		wait := func(what string) []contextscope.Event {
			e := event(contextscope.KindRun, "", run.Data{Wait: &what})
			e.Run, e.Time = "r1", time.Now()
			return []contextscope.Event{e}
		}
		start := event(contextscope.KindRun, "", run.Data{
			State: run.Planning, Spec: &run.Spec{Goal: "g", Created: time.Now()},
		})
		start.Run, start.Time = "r1", time.Now()
		live.Handle([]contextscope.Event{start})
		pass(2 * time.Second)
		live.Handle(wait("approval of the plan"))
		pass(time.Hour)
		require.Contains(t, screen.text(), "run is waiting for approval of the plan")
		require.Contains(t, screen.text(), "divisi r1  waiting · 2s")
		live.Handle(wait(""))
		pass(3 * time.Second)
		require.Contains(t, screen.text(), "divisi r1  planning · 5s")
		require.NoError(t, live.Close())
		require.Equal(t, []string{"22;2", "divisi r1: planning", "divisi r1: waiting", "divisi r1: planning", "", "23;2"}, screen.titles)
	})
}

// printable returns the printable characters of s, and the newline.
func printable(s string) string {
	keep := []rune{'\n'}
	for _, r := range s {
		if r >= ' ' && r != 0x7f && (r < 0x80 || r > 0x9f) {
			keep = append(keep, r)
		}
	}
	slices.Sort(keep)
	return string(slices.Compact(keep))
}

// TestUnreadableDataIsPassedOver: a display must survive an event that a newer program wrote.
func TestUnreadableDataIsPassedOver(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	c := New(Options{Out: &out})
	for _, k := range []contextscope.Kind{"run", "plan", "task", "landing", "receipt", "result", "started", "error", "later"} {
		odd := json.RawMessage(`["what"]`)
		c.Handle([]contextscope.Event{{ID: "e", Run: "r", Kind: k, Task: "t", Data: odd}, {Run: "r", Kind: k}})
	}
	require.NoError(t, c.Close())
	require.Contains(t, out.String(), "Run r is ")
}
