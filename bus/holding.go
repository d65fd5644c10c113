package bus

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

const (
	// sitFor is how long a worker may hold a task without beginning it, in all deliveries: others have it within a minute.
	sitFor = 35 * time.Second
	// maxRest is for how long a task may be kept from others that its worker has not begun and hands back.
	maxRest = maxAckWait
	// leastSit is what a delivery that was not begun counts at least.
	leastSit = time.Second
	// lapse is after how long without a sign of life a delivery is another's: AckWait is less.
	lapse = 2 * maxAckWait
	// maxHeld is how many tasks a worker may hold at once.
	maxHeld = 512
	// maxStrikes within strikeMemory, and a worker gets no more tasks.
	maxStrikes   = 3
	strikeMemory = 24 * time.Hour
	// sitMemory is how long a task that a worker did not begin is remembered.
	sitMemory = time.Hour
)

// holding is what one worker has of the queues, as the gate saw it. Its methods may be called by many goroutines.
type holding struct {
	mu      sync.Mutex
	tasks   map[string]*held // by subject
	answers map[string]*held // those that it holds now, by where it answers
	strikes []time.Time
}

// held is one task of a worker.
type held struct {
	answers string // the subject; empty while the worker does not hold it
	begun   bool
	since   time.Time     // of the newest delivery
	sign    time.Time     // the newest one of life
	sat     time.Duration // how long earlier deliveries were held without being begun
}

func newHolding() *holding { return &holding{tasks: map[string]*held{}, answers: map[string]*held{}} }

// deliver notes a task on its way to the worker. It reports false where the worker is to have no more.
func (h *holding) deliver(subject, answers string, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.refusal() != "" {
		return false
	}
	t := h.task(subject)
	h.leave(t, now)
	t.begun, t.answers, t.since, t.sign = false, answers, now, now
	h.answers[answers] = t
	return true
}

func (h *holding) task(subject string) *held {
	t := h.tasks[subject]
	if t == nil {
		t = &held{}
		h.tasks[subject] = t
	}
	return t
}

// leave notes that the worker does not hold a task any more.
func (h *holding) leave(t *held, now time.Time) {
	if t.answers == "" {
		return
	}
	delete(h.answers, t.answers)
	t.answers = ""
	if now.Sub(t.sign) > lapse { // it has been another's
		now = t.sign
	}
	if !t.begun {
		t.sat += max(leastSit, now.Sub(t.since))
	}
}

// holds reports whether the worker holds a task now.
func (h *holding) holds(subject string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.tasks[subject]
	return t != nil && t.answers != ""
}

// begin notes that the worker appended an event.
func (h *holding) begin(event string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.answers) == 0 {
		return
	}
	if t := h.tasks[taskOf(event)]; t != nil && t.answers != "" {
		t.begun, t.sat = true, 0
	}
}

// adopt notes a task that the worker has begun, and that the gate did not see on its way.
func (h *holding) adopt(subject, answers string, now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.task(subject)
	h.leave(t, now)
	*t = held{answers: answers, begun: true, since: now, sign: now}
	h.answers[answers] = t
}

// begun reports whether the worker holds a task that it has begun.
func (h *holding) begun(answers string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.answers[answers]
	return t != nil && t.begun
}

// answer notes what the worker answers for a task. It reports false where it does not hold it.
func (h *holding) answer(answers string, content []byte, now time.Time) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	t := h.answers[answers]
	switch {
	case t == nil:
		return false
	case string(content) == string(ackProgress):
		t.sign = now
	default:
		h.leave(t, now)
	}
	return true
}

// refused is why the worker is to have no more tasks; empty where it is.
func (h *holding) refused() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.refusal()
}

// struck reports whether the worker is to have no more tasks for good.
func (h *holding) struck() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.strikes) >= maxStrikes
}

func (h *holding) refusal() string {
	switch {
	case len(h.strikes) >= maxStrikes:
		return fmt.Sprintf("it held tasks for %s without beginning them, %d times. It gets no more until it has another key, "+
			"or the server is started again", sitFor, len(h.strikes))
	case len(h.answers) >= maxHeld:
		return fmt.Sprintf("it holds %d, as many as a worker may", maxHeld)
	}
	return ""
}

// excuse has the time begin again in which tasks are to be begun: the server stores nothing.
func (h *holding) excuse(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, t := range h.tasks {
		t.since, t.sat = now, 0
	}
}

// judge returns the tasks that the worker has held for too long without beginning them, sorted, and how often that was so. It
// holds them no more.
func (h *holding) judge(now time.Time) (sat []string, times int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for subject, t := range h.tasks {
		if now.Sub(t.sign) > lapse {
			h.leave(t, now)
		}
		total := t.sat
		if t.answers != "" && !t.begun {
			total += now.Sub(t.since)
		}
		switch {
		case total >= sitFor:
			h.leave(t, now)
			delete(h.tasks, subject)
			sat = append(sat, subject)
		case t.answers == "" && (t.begun || now.Sub(t.sign) > sitMemory):
			delete(h.tasks, subject)
		}
	}
	h.strikes = slices.DeleteFunc(h.strikes, func(at time.Time) bool {
		return len(h.strikes) < maxStrikes && now.Sub(at) > strikeMemory
	})
	if len(sat) > 0 {
		h.strikes = append(h.strikes, now)
	}
	slices.Sort(sat)
	return sat, len(h.strikes)
}

// begun finds the task at a place of the queue, and reports whether a worker has begun it. What cannot be found out counts as
// begun, and so does a task that is off the queue: an answer that is given again ends nothing more.
func (b *Bus) begun(name string, place uint64) (task string, begun bool) {
	ctx, cancel := context.WithTimeout(context.Background(), findPatience)
	defer cancel()
	m, err := b.tasks.GetMsg(ctx, place)
	if err != nil {
		return "", true
	}
	event, err := b.Last(ctx, eventsOf(m.Subject, name))
	if err != nil {
		return "", true
	}
	return m.Subject, event != nil
}

// stored reports whether an event is on a subject. What cannot be found out counts as one.
func (b *Bus) stored(subject string) bool {
	ctx, cancel := context.WithTimeout(context.Background(), findPatience)
	defer cancel()
	m, err := b.Last(ctx, subject)
	return err != nil || m != nil
}
