package worker

import (
	"context"
	"encoding/json"
	"runtime"
	"sync"
	"time"

	"divisi/bus"
	"divisi/internal/spec"
	"divisi/subagents/command"
	"divisi/subagents/wire"

	"github.com/rs/zerolog"
)

const (
	// groupWork is about how long a group works, beside the time that its command takes to start.
	groupWork = 2 * time.Second
	// maxGathered is how many attempts wait for a group at most; minGathered how many files they have before it is known how
	// long one takes. Another worker may take the rest.
	maxGathered, minGathered = 256, 16
	// beginPatience is for waiting, and then for reading: both are less than a worker may hold a task without beginning it.
	beginPatience = 15 * time.Second
	// maxShared is above how many deliveries an attempt runs alone: the worker that it shared a process with may have been lost
	// because of it.
	maxShared = 2
)

// gathering holds the attempts of one role that may share a process, until there is a core for them. Those that wait then are one
// group.
type gathering struct {
	worker *Worker
	// places is how many groups run at once; nil before the first attempt came.
	places chan struct{}
	// patience is how long an attempt waits before it begins all the same.
	patience time.Duration

	mu      sync.Mutex
	waiting []*member
	// begun and files are how many attempts wait that have begun, and how many files those have.
	begun, files int
	rates        map[string]rate
	// less is told that fewer wait, or that more may.
	less chan struct{}
}

// member is one attempt of a group.
type member struct {
	*attempt

	delivery *bus.Delivery
	// alike is shared with the tasks with which it may share a process.
	alike string
	log   zerolog.Logger
	// ctx ends with the attempt; leave ends its control messages, quiet its heartbeat.
	ctx          context.Context //nolint:containedctx // as above
	leave, quiet func()
}

// rate is how long the command of a template takes: start for its first task, each for a file more, in its newest group.
type rate struct {
	start, each time.Duration
	first       int
}

// files is how many files the next group is given; 0 before it is known.
func (r rate) files() int {
	if r.each <= 0 {
		return 0
	}
	return r.first + int(groupWork/r.each)
}

// predicts is how long the command takes for so many files.
func (r rate) predicts(files int) time.Duration {
	return r.start + r.each*time.Duration(max(0, files-r.first))
}

// learn takes in how long the command took for so many files. The first time tells nothing of a file more: at least twice as many
// are tried then. A later one may be too short by chance.
func (r rate) learn(files int, took time.Duration) rate {
	switch {
	case r.first == 0:
		return rate{start: took, each: max(1, min(took/2, groupWork)/time.Duration(files)), first: files}
	case files > r.first:
		r.each = max(1, (took-r.start)/time.Duration(files-r.first), took/time.Duration(files*maxStart))
	}
	return r
}

// maxStart bounds how much longer the start of a command may be than its work on one file, in the rate of one group.
const maxStart = 20

func newGathering(w *Worker) *gathering {
	return &gathering{worker: w, patience: beginPatience, rates: map[string]rate{}, less: make(chan struct{}, 1)}
}

// add takes an attempt in that may share a process, and waits while enough of them wait. It reports false for any other.
func (g *gathering) add(ctx context.Context, d *bus.Delivery) bool {
	short, err := decodeAssignment(d.Data)
	if err != nil || short.Group == "" {
		return false
	}
	a, err := g.worker.assignment(ctx, d)
	if err != nil {
		return false // the attempt alone has it as its result
	}
	if g.places == nil {
		g.places = make(chan struct{}, groupsAtOnce(&a.Role))
	}
	log := g.worker.cfg.Log.With().Str("task", d.ID).Int("delivery", d.Number).Logger()
	m := &member{
		attempt: &attempt{worker: g.worker, assignment: a}, delivery: d, alike: alike(a), log: log,
		quiet: g.worker.heartbeat(ctx, d, log),
	}
	g.mu.Lock()
	g.waiting = append(g.waiting, m)
	g.mu.Unlock()
	g.worker.done.Go(func() { g.work(ctx, nil) })
	for g.full(a.Group) {
		select {
		case <-g.less:
		case <-ctx.Done():
			return true
		}
	}
	return true
}

// groupsAtOnce is how many groups of a role run at once: the attempts of one that has a cap count as one agent.
func groupsAtOnce(r *spec.Role) int {
	if r.Concurrency > 0 {
		return 1
	}
	return runtime.GOMAXPROCS(0)
}

// alike is an assignment without what is a task's own.
func alike(a *wire.Assignment) string {
	rest := *a
	t := &rest.Task
	t.ID, t.Title, t.Files, t.Rule = "", "", nil, nil
	rest.Delivery, rest.Object = 0, ""
	data, err := json.Marshal(rest)
	if err != nil {
		return a.Agent()
	}
	return wire.Name("group", data)
}

// full reports whether enough attempts wait for the groups that can run next.
func (g *gathering) full(group string) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	files := g.files
	for _, m := range g.waiting {
		files += len(m.assignment.Task.Files)
	}
	return len(g.waiting)+g.begun >= maxGathered || files >= max(minGathered, cap(g.places)*g.rates[group].files())
}

// take takes the attempts of the next group: those that are like the first one, as many as its rate and the length of their names
// allow. A command whose rate is not known is given one task.
func (g *gathering) take() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.waiting) == 0 {
		return nil
	}
	first, taken := g.waiting[0], g.waiting[:1:1]
	files, names := measure(first)
	most := g.rates[first.assignment.Group].files()
	rest := make([]*member, 0, len(g.waiting))
	for _, m := range g.waiting[1:] {
		n, bytes := measure(m)
		if m.alike != first.alike || files+n > most || names+bytes > command.MaxNames {
			rest = append(rest, m)
			continue
		}
		taken, files, names = append(taken, m), files+n, names+bytes
	}
	g.waiting = rest
	g.tell()
	return taken
}

// measure is how many files an attempt has, and how many bytes their names.
func measure(m *member) (files, names int) {
	for _, f := range m.assignment.Task.Files {
		names += len(f) + 1
	}
	return len(m.assignment.Task.Files), names
}

func (g *gathering) rate(group string) rate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.rates[group]
}

// learn notes how long the command took for some attempts.
func (g *gathering) learn(ms []*member, took time.Duration) {
	files := 0
	for _, m := range ms {
		n, _ := measure(m)
		files += n
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	group := ms[0].assignment.Group
	g.rates[group] = g.rates[group].learn(max(1, files), took)
	g.tell()
}

// waits counts attempts that have begun as waiting, and their time as that of a queue, until stop.
func (g *gathering) waits(ms []*member) (stop func()) {
	since, files := time.Now(), 0
	for _, m := range ms {
		files += len(m.assignment.Task.Files)
	}
	g.count(len(ms), files)
	return func() {
		g.count(-len(ms), -files)
		for _, m := range ms {
			m.queued += time.Since(since)
		}
	}
}

func (g *gathering) count(begun, files int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.begun, g.files = g.begun+begun, g.files+files
	g.tell()
}

func (g *gathering) tell() {
	select {
	case g.less <- struct{}{}:
	default:
	}
}

func (g *gathering) any() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.waiting) > 0
}

// all takes all attempts that wait.
func (g *gathering) all() []*member {
	g.mu.Lock()
	defer g.mu.Unlock()
	ms := g.waiting
	g.waiting = nil
	return ms
}
