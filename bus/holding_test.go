package bus

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHolding: what each row does each five seconds, as the gate sees it, and after how many times the task counts as sat on.
func TestHolding(t *testing.T) {
	t.Parallel()
	const task, event = "task.generator.r.t--1", "ev.r.a.w.generator.t.1"
	type turn struct {
		h       *holding
		turn    int
		now     time.Time
		answers string
	}
	again := func(s *turn) { s.answers += "1"; s.h.deliver(task, s.answers, s.now) }
	for name, tt := range map[string]struct {
		do   func(s *turn)
		want int // 0 for never
	}{
		"only says that it is at it": {func(s *turn) { s.h.answer(s.answers, ackProgress, s.now) }, 7},
		"lets it come back":          {again, 7},
		"hands it back, and takes it again": {func(s *turn) {
			s.h.answer(s.answers, []byte("-NAK {}"), s.now)
			again(s)
		}, 7},
		"has it queued again": {func(s *turn) {
			s.h.answer(s.answers, ackDone, s.now)
			again(s)
		}, 7},
		"hands it back at once, each time": {func(s *turn) {
			again(s)
			s.h.answer(s.answers, ackNak, s.now)
		}, 30}, // the first time, and a second for each other one
		"is gone": {func(*turn) {}, 0},
		"begins it after twenty seconds": {func(s *turn) {
			s.h.answer(s.answers, ackProgress, s.now)
			if s.turn == 4 {
				s.h.begin(event)
			}
		}, 0},
		"begins another": {func(s *turn) { s.h.answer(s.answers, ackProgress, s.now); s.h.begin("ev.r.a.w.generator.t.2") }, 7},
		"waits for a store that is full": {func(s *turn) {
			s.h.answer(s.answers, ackProgress, s.now)
			s.h.excuse(s.now)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := turn{h: newHolding(), now: time.Unix(0, 0), answers: "a"}
			require.True(t, s.h.deliver(task, s.answers, s.now))
			found := 0
			for s.turn = 1; s.turn <= 300 && found == 0; s.turn++ {
				s.now = s.now.Add(guardEvery)
				tt.do(&s)
				if sat, times := s.h.judge(s.now); len(sat) > 0 {
					require.Equal(t, []string{task}, sat)
					require.Equal(t, 1, times)
					found = s.turn
				}
			}
			require.Equal(t, tt.want, found)
		})
	}
}

func TestHoldingForgets(t *testing.T) {
	t.Parallel()
	h, now := newHolding(), time.Unix(0, 0)
	strike := func() int {
		require.True(t, h.deliver("task.g.r.t--1", "a", now))
		for range sitFor / guardEvery {
			now = now.Add(guardEvery)
			h.answer("a", ackProgress, now)
		}
		_, times := h.judge(now)
		return times
	}
	require.Equal(t, 1, strike())
	now = now.Add(time.Hour)
	require.Equal(t, 2, strike())
	now = now.Add(strikeMemory - time.Hour)
	_, times := h.judge(now)
	require.Equal(t, 1, times, "the older one is forgotten")
	require.Equal(t, 2, strike())
	require.Equal(t, 3, strike())
	now = now.Add(10 * strikeMemory)
	_, times = h.judge(now)
	require.Equal(t, 3, times, "who gets no more tasks stays so")
	require.NotEmpty(t, h.refused())
	require.False(t, h.deliver("task.g.r.t--1", "a", now))
	require.Empty(t, h.tasks)
}

func TestTheTaskOfAnEvent(t *testing.T) {
	t.Parallel()
	for _, task := range []string{"t", "a--b", "t-001"} {
		event := AttemptSubject("r", "w", "generator", task, 12)
		queued := "task.generator.r." + task + "--12"
		require.Equal(t, queued, taskOf(event))
		require.Equal(t, event, eventsOf(queued, "w"))
	}
	require.Empty(t, taskOf(ConductorSubject("r", "run")))
	require.Empty(t, eventsOf("task.generator.r.t", "w"))
}
