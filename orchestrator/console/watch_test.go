package console

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/contextscope"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/orchestrator/view/feed"
)

// heard collects notices.
type heard struct {
	mu  sync.Mutex
	all []string
}

func (h *heard) add(n Notice) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.all = append(h.all, n.Event+": "+n.Text)
}

func (h *heard) take() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := h.all
	h.all = nil
	return all
}

// dated are events of the present time, at positions that follow each other.
func dated(pos *uint64, events ...contextscope.Event) []contextscope.Event {
	for i := range events {
		*pos++
		events[i].Pos, events[i].Time = *pos, time.Now()
	}
	return events
}

func TestNoticesOfARun(t *testing.T) {
	t.Parallel()
	for _, tty := range []bool{true, false} {
		synctest.Test(t, func(t *testing.T) {
			var h heard
			var pos uint64
			screen := newTerminal(t, 80)
			c := New(Options{Out: screen, TTY: tty, Bell: true, Notify: h.add})
			put := func(events ...contextscope.Event) []string {
				c.Handle(dated(&pos, events...))
				pass(2 * time.Second)
				return h.take()
			}
			require.Empty(t, put(
				event(contextscope.KindRun, "", run.Data{State: run.Running, Spec: &run.Spec{Created: time.Now(), Plan: &spec.Plan{}}}),
				event(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a"}, {ID: "b"}}})))
			held := func(task string) contextscope.Event {
				return event(contextscope.KindTask, task, run.TaskData{State: run.TaskHeld, Doubt: &run.Doubt{Evidence: []string{"it \x1b[2Jdeletes"}}})
			}
			require.Equal(t, []string{"decision: waiting for a decision about the patch of a: it deletes"}, put(held("a")))
			require.Empty(t, put(), "it is told once")
			c.Handle(dated(&pos, event(contextscope.KindRun, "", run.Data{State: run.Stopped, Reason: "ctrl-c"})))
			require.NoError(t, c.Close())
			require.Equal(t, []string{"end: run is stopped: ctrl-c"}, h.take(), "the end is told although nothing is drawn any more")
			if tty {
				require.Equal(t, 2, screen.bells)
			} else {
				require.Zero(t, screen.bells)
			}
		})
	}
}

func TestTheAlarmOfARunInWhichNothingLands(t *testing.T) {
	t.Parallel()
	now, v := time.Unix(1000, 0), feed.Follow()
	w := feed.NewWatch(now)
	alarms := func(after time.Duration, events ...contextscope.Event) int {
		now = now.Add(after)
		for i := range events {
			events[i].Time = now
			v.Apply(&events[i])
		}
		return len(w.Look(v, now))
	}
	wait, none := "an answer", ""
	require.Zero(t, alarms(0, event(contextscope.KindRun, "", run.Data{State: run.Preflight, Spec: &run.Spec{Created: now}})))
	require.Zero(t, alarms(2*feed.StallAfter, event(contextscope.KindPlan, "", run.PlanData{By: run.ByFile, Tasks: []spec.Task{{ID: "a"}, {ID: "b"}}})))
	require.Zero(t, alarms(0, event(contextscope.KindRun, "", run.Data{State: run.Running})), "it has just begun")
	require.Zero(t, alarms(feed.StallAfter-time.Second))
	require.Equal(t, 1, alarms(time.Second))
	require.Zero(t, alarms(2*feed.StallAfter), "it is told once")
	landed := run.LandingData{Batch: 1, State: run.LandingLanded, Tasks: []run.Landed{{Task: "b", Commit: "c"}}}
	require.Zero(t, alarms(time.Second, event(contextscope.KindLanding, "", landed)))
	require.Equal(t, 1, alarms(feed.StallAfter))
	require.Zero(t, alarms(time.Second, event(contextscope.KindRun, "", run.Data{Wait: &wait})))
	require.Zero(t, alarms(2*feed.StallAfter), "it waits for a person")
	require.Zero(t, alarms(0, event(contextscope.KindRun, "", run.Data{Wait: &none})))
	require.Equal(t, 1, alarms(feed.StallAfter))
}

// A run that ended before it is watched ends for no one.
func TestAReplayIsNoNotice(t *testing.T) {
	t.Parallel()
	var h heard
	events := readSample(t)
	c := New(Options{Out: newTerminal(t, 80), TTY: true, Notify: h.add})
	c.Handle(events)
	require.NoError(t, c.Close())
	require.Empty(t, h.take())
}

func TestSummary(t *testing.T) {
	t.Parallel()
	events := readSample(t)[:middle]
	for _, tty := range []bool{true, false} {
		screen := newTerminal(t, 80)
		c := New(Options{Out: screen, TTY: tty, Zone: time.UTC, Now: at(events)})
		c.Handle(events)
		require.NoError(t, c.Summary(nil))
		require.NoError(t, c.Close())
		shown := screen.text()
		require.Contains(t, shown, "  running · 6m31s · 349k of 2.00M tokens · unpriced\n")
		require.Contains(t, shown, "log-web/1      reading web/log.go    ", "all agents")
	}
	var other, out bytesOf
	c := New(Options{Out: &out, JSON: true, Now: at(events)})
	require.NoError(t, c.Summary(&other))
	require.NoError(t, c.Close())
	require.Empty(t, out)
	require.Contains(t, string(other), "divisi ")
}

type bytesOf []byte

func (b *bytesOf) Write(p []byte) (int, error) {
	*b = append(*b, p...)
	return len(p), nil
}

func TestATerminalWithoutUTF8GetsASCII(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		events := readSample(t)[:middle]
		screen := newTerminal(t, 100)
		c := New(Options{Out: screen, TTY: true, ASCII: true, Color: true, Now: at(events)})
		c.Handle(events)
		_, err := c.Write([]byte("größe 日本\n"))
		require.NoError(t, err)
		pass(redrawPause)
		shown := screen.text()
		require.NoError(t, c.Close())
		for _, r := range shown + screen.text() {
			require.Less(t, r, rune(0x80))
		}
		require.Contains(t, shown, "gr??e ??\n")
		require.Contains(t, shown, "#+")
		require.Contains(t, shown, " landed | ")
	})
}
