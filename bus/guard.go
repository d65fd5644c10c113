package bus

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"divisi/bus/member"
	"divisi/internal/text"
)

const (
	guardEvery = 5 * time.Second
	// findPatience is for finding out about a task that the gate did not see on its way.
	findPatience = 2 * time.Second
	// maxQueues is how many queues a worker may open within a day, one for each role of a run.
	maxQueues = 4096
	putBack   = `-NAK {"delay": 1000000000}`
)

// errOver ends the reading of a connection that has ended otherwise.
var errOver = errors.New("the connection has ended")

// guard bounds what a worker that does not do its part costs the others: the tasks that it holds and does not begin, and what it
// stores. It knows a worker by its key. Before Guard it only refuses terms of queues.
type guard struct {
	members *member.Registry
	bus     atomic.Pointer[Bus] // of the server's own process; nil before Guard
	share   atomic.Int64        // what a worker may store at once
	clock   func() time.Time
	tell    func(worker, what string)
	// speaks is the server's version, and met is told the version of each member, with why that does not fit.
	speaks Version
	met    func(m member.Member, there Version, why string)

	mu      sync.Mutex
	workers map[string]*worker
	readers map[string]readers // by key
}

// worker is what the guard knows of one.
type worker struct {
	member.Member
	*holding

	stored allowance
	// queues are those that it has opened since a time, by the subjects of its requests.
	opening sync.Mutex
	queues  map[string]bool
	since   time.Time
}

// open notes a queue that the worker opens, and refuses more than it may: the server keeps each for a day.
func (w *worker) open(queue string, now time.Time) error {
	w.opening.Lock()
	defer w.opening.Unlock()
	if now.Sub(w.since) > idleRun {
		w.queues, w.since = map[string]bool{}, now
	}
	if !w.queues[queue] && len(w.queues) >= maxQueues {
		return fmt.Errorf("%s has opened %d queues within a day", w, maxQueues)
	}
	w.queues[queue] = true
	return nil
}

// Guard bounds the workers that are members, until stop. tell is called with the name of one that keeps to no bounds, and with
// what a person should read.
func (b *Bus) Guard(clock func() time.Time, tell func(worker, what string)) (stop func()) {
	g := b.gate.guard
	g.clock, g.tell = clock, tell
	b.measure()
	g.bus.Store(b)
	ctx, cancel := context.WithCancel(context.Background())
	var under sync.WaitGroup
	under.Go(func() {
		for pause(ctx, b.closing, guardEvery) == nil {
			b.measure()
			b.judge(clock())
		}
	})
	return func() { cancel(); under.Wait(); g.bus.Store(nil) }
}

// measure takes a worker's share of the store. A store that takes nothing excuses all: they may wait for it to begin.
func (b *Bus) measure() {
	used, ceiling, ok := b.Filled()
	if ok {
		b.gate.guard.share.Store(storeShare(ceiling))
	}
	if b.server.fault() == nil && ok && used < ceiling-2*MaxData {
		return
	}
	for _, w := range b.gate.guard.all() {
		w.excuse(b.gate.guard.clock())
	}
}

// judge cuts the connections of the workers that sit on tasks, which other workers then get.
func (b *Bus) judge(now time.Time) {
	for _, w := range b.gate.guard.all() {
		sat, times := w.judge(now)
		if len(sat) == 0 {
			continue
		}
		what := fmt.Sprintf("has held %s for %s without beginning any, %s for one: other workers get them. That was "+
			"time %d of %d within a day", text.Count(len(sat), "task"), sitFor, sat[0], times, maxStrikes)
		if times >= maxStrikes {
			what += ". It gets no more tasks until it has another key, or the server is started again"
		}
		b.gate.guard.report(b, w.Name, what)
		if err := b.cut(w.Key); err != nil {
			b.log.Warn().Err(err).Str("worker", w.Name).Msg("the connections of a worker were not cut")
		}
	}
}

func (g *guard) report(b *Bus, name, what string) {
	b.log.Warn().Str("worker", name).Msg(what)
	g.tell(name, what)
}

func (g *guard) all() (all []*worker) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, w := range g.workers {
		all = append(all, w)
	}
	return all
}

// worker returns what is known of the worker with a key; nil for who is none.
func (g *guard) worker(key string) *worker {
	m, ok := g.members.ByKey(key)
	if !ok || m.Role != member.Worker {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	w := g.workers[key]
	if w == nil {
		w = &worker{Member: m, holding: newHolding()}
		g.workers[key] = w
	}
	return w
}

// watch is one connection to the gate, as the guard sees it. It implements member.Watch and member.Told.
type watch struct {
	*guard

	who    atomic.Pointer[worker]
	key    string // that the client claims, with its version, from before proven is closed
	claims Version
	// login returns why there is no room for who has a key; proven is closed when it was let in, over when the connection ends.
	login  func(key string) error
	proven chan struct{}
	once   sync.Once
	over   <-chan struct{}
}

// Connect implements member.Watch.
func (c *watch) Connect(key, name string) {
	c.key, c.claims = key, versionIn(name)
	c.who.Store(c.worker(key))
}

// Proven implements member.Told.
func (c *watch) Proven() (err error) {
	c.once.Do(func() {
		if err = c.login(c.key); err == nil {
			err = c.meet()
		}
		if err == nil {
			close(c.proven)
		}
	})
	return err
}

// Deliver implements member.Told. A task that the worker is not to have goes to another.
func (c *watch) Deliver(subject, answers string) (pass bool) {
	w, b := c.who.Load(), c.bus.Load()
	if w == nil || b == nil || w.deliver(subject, answers, c.clock()) {
		return true
	}
	b.answer(answers, []byte(putBack), nil)
	return false
}

// Announced implements member.Watch. What a client publishes waits, unread, until it has proven who it is.
func (c *watch) Announced(subject string, size int) error {
	select {
	case <-c.proven:
	case <-c.over:
		return errOver
	}
	if most := mostOf(subject); size > most {
		return fmt.Errorf("%w: %d bytes to %.80q, which takes %d", member.ErrRefused, size, subject, most)
	}
	return nil
}

// readers counts what a member has begun to read of the log of late.
type readers struct {
	minute time.Time
	begun  int
}

// maxReaders is how often a minute a member may begin to read the log: the server keeps the place of each reader for a minute.
const maxReaders = 2000

// follow refuses one more reader than a member may have.
func (g *guard) follow(key string, now time.Time) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.readers[key]
	if minute := now.Truncate(time.Minute); !minute.Equal(r.minute) {
		r = readers{minute: minute}
	}
	r.begun++
	g.readers[key] = r
	if r.begun > maxReaders {
		return fmt.Errorf("%w: more than %d readers of the log within a minute", member.ErrRefused, maxReaders)
	}
	return nil
}

// Publish implements member.Watch.
func (c *watch) Publish(subject, reply string, content []byte, size int) (pass bool, err error) {
	w, b := c.who.Load(), c.bus.Load()
	if strings.HasPrefix(subject, "$JS.API.CONSUMER.CREATE."+streamEvents+".") {
		if err := c.follow(c.key, time.Now()); err != nil {
			return false, err
		}
	}
	if w == nil {
		return true, nil
	}
	first, rest, _ := strings.Cut(subject, ".")
	switch {
	case (first == prefixPresence || first == prefixControl) && w.struck():
		return false, nil // it gets no tasks: a run that counts on it would wait for what is left to it
	case first == prefixLog || first == prefixObject || first == prefixCache:
		if t := strings.Split(subject, "."); first == prefixLog && len(t) > 2 && t[2] == "a" && !OfAttempt(subject) {
			return false, fmt.Errorf("%w: an event on %.200q, which no attempt has", member.ErrRefused, subject)
		}
		if b == nil {
			return true, nil
		}
		if first == prefixLog {
			task := taskOf(subject)
			if OfAttempt(subject) && subject == eventsOf(task, w.Name) && !w.holds(task) && !b.stored(subject) {
				return false, c.deny(b, w, reply, http.StatusBadRequest, jetstream.JSErrCodeStreamWrongLastSequence,
					"it was not given this attempt")
			}
			w.begin(subject)
		}
		return c.put(b, w, subject, reply, size)
	case first == prefixControl && strings.HasSuffix(rest, ".active"):
		return b == nil || w.holds(string(content)), nil // else it would keep the attempt of a worker that is gone from others
	case first != "$JS":
		return true, nil
	case strings.HasPrefix(rest, "API.CONSUMER.CREATE."+streamTasks+"."):
		err := sound(content)
		if err == nil {
			err = w.open(rest, time.Now())
		}
		if err != nil {
			return false, fmt.Errorf("%w: %w", member.ErrRefused, err)
		}
	case b == nil:
	case strings.HasPrefix(rest, "API.CONSUMER.MSG.NEXT."+streamTasks+"."):
		return c.pull(b, w, reply)
	case strings.HasPrefix(rest, "ACK."+streamTasks+"."):
		return c.settle(b, w, subject, reply, content)
	}
	return true, nil
}

// pull reports whether a worker may ask for a task.
func (c *watch) pull(b *Bus, w *worker, reply string) (bool, error) {
	why := w.refused()
	if why == "" {
		return true, nil
	}
	return false, c.refuse(b, w, reply, nil, nats.Header{"Status": {statusForbidden}, "Description": {w.String() + ": " + why}})
}

// put reports whether a worker may store a message. What it may not gets the answer of a store that is full.
func (c *watch) put(b *Bus, w *worker, subject, reply string, size int) (bool, error) {
	why, first := w.stored.put(subject, int64(size), c.share.Load(), c.clock())
	if why == "" {
		return true, nil
	}
	if first {
		c.report(b, w.Name, "stores too much: "+why+", and waits. If it is not meant to, revoke it")
	}
	return false, c.deny(b, w, reply, http.StatusInternalServerError, codeStorageResources, why)
}

// deny answers a worker, in place of the server, that a message is not stored.
func (c *watch) deny(b *Bus, w *worker, reply string, status int, code jetstream.ErrorCode, why string) error {
	data, err := json.Marshal(server.JSPubAckResponse{Error: &server.ApiError{
		Code: status, ErrCode: uint16(code), Description: w.String() + ": " + why,
	}})
	if err != nil {
		return fmt.Errorf("refuse a write of a worker: %w", err)
	}
	return c.refuse(b, w, reply, data, nil)
}

// refuse answers a worker in place of the server.
func (c *watch) refuse(b *Bus, w *worker, reply string, data []byte, header nats.Header) error {
	if reply != "" && !strings.HasPrefix(reply, member.Inbox(w.Name)+".") {
		return fmt.Errorf("%w: the answer to %s goes to %.200q", member.ErrRefused, w, reply)
	}
	if reply != "" {
		b.answer(reply, data, header)
	}
	return nil
}

// settle reports whether the server is to have what a worker answers for a task. For a task that the gate did not see on its way,
// or that the worker sat on, an answer counts when the worker has begun it.
func (c *watch) settle(b *Bus, w *worker, answers, reply string, content []byte) (bool, error) {
	t := strings.Split(answers, ".") // $JS.ACK.TASKS.<queue>.<delivery>.<place>.…
	if len(t) != 9 {
		return false, fmt.Errorf("%w: %.200q answers for no task", member.ErrRefused, answers)
	}
	place, err := strconv.ParseUint(t[5], 10, 64)
	if err != nil {
		return false, fmt.Errorf("%w: %.200q answers for no task: %w", member.ErrRefused, answers, err)
	}
	rest, sound := answersTask(content)
	if !sound {
		return false, fmt.Errorf("%w: %.20q is no answer for a task", member.ErrRefused, content)
	}
	soon := rest > maxRest && !w.begun(answers)
	switch held := w.answer(answers, content, c.clock()); {
	case held && soon: // in place of the worker
		b.answer(answers, fmt.Appendf(nil, `%s {"delay": %d}`, ackNak, maxRest.Nanoseconds()), nil)
		return false, c.refuse(b, w, reply, nil, nil)
	case held:
		return true, nil
	}
	subject, begun := b.begun(w.Name, place)
	if subject != "" && begun && string(content) == string(ackProgress) {
		w.adopt(subject, answers, c.clock())
	}
	return begun, nil
}

// answersTask reports whether an answer is one that a worker of this program gives, and for how long it keeps the task from all.
// The server knows more: one that asks for the next task, and delays of any length.
func answersTask(content []byte) (rest time.Duration, ok bool) {
	if rest, delayed := bytes.CutPrefix(content, ackNak); delayed && len(rest) > 0 {
		var o server.ConsumerNakOptions
		err := json.Unmarshal(rest, &o)
		return o.Delay, err == nil && o.Delay >= 0 && o.Delay <= maxDelay
	}
	return 0, bytes.Equal(content, ackDone) || bytes.Equal(content, ackNak) || bytes.Equal(content, ackProgress) ||
		bytes.HasPrefix(content, ackTerm)
}

// answer publishes an answer from the process of the server.
func (b *Bus) answer(to string, data []byte, header nats.Header) {
	if err := b.nc.PublishMsg(&nats.Msg{Subject: to, Data: data, Header: header}); err != nil {
		b.log.Debug().Err(err).Str("subject", to).Msg("a worker got no answer from the gate")
	}
}
