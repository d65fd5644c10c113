package bus

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// headerTask carries the id that a task was enqueued under.
const headerTask = "Divisi-Task"

const (
	defaultAckWait    = 15 * time.Second
	defaultMaxDeliver = 6
	minAckWait        = time.Second // what a member may set
	maxAckWait        = 15 * time.Second
	maxDelay          = 10 * time.Minute
	maxWaiting        = 4096 // idle workers of one role; the server's default refuses the 513th
)

// Enqueue puts a task on the queue under its subject (TaskSubject). ErrQueued when a copy is there or with a worker,
// whatever its id: one subject has one task until it is acknowledged, terminated or purged. Lost answers are retried.
// id comes back as Delivery.ID; the same id may be enqueued again after its task has left.
func (b *Bus) Enqueue(ctx context.Context, subject string, id string, data []byte) error {
	if err := checkSubject(subject, prefixTask); err != nil {
		return fmt.Errorf("enqueue %s: %w", id, err)
	}
	m := &nats.Msg{Subject: subject, Data: data, Header: nats.Header{headerTask: {id}}}
	_, err := b.store(ctx, b.tasks, m, subject, 0)
	if errors.Is(err, ErrFenced) {
		err = ErrQueued
	}
	if err != nil {
		return fmt.Errorf("enqueue %s to %s: %w", id, subject, err)
	}
	return nil
}

// Queued lists the subjects that filter matches and whose task is queued or with a worker, sorted. A task that was given
// out as often as QueueOptions.MaxDeliver allows stays listed until it is purged.
func (b *Bus) Queued(ctx context.Context, filter string) ([]string, error) {
	if err := checkFilter(filter, prefixTask); err != nil {
		return nil, fmt.Errorf("list the queue: %w", err)
	}
	var subjects []string
	_, err := b.attempt(ctx, []string{"$JS.API.STREAM.INFO." + streamTasks}, func(ctx context.Context) error {
		info, err := b.tasks.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		subjects = slices.Sorted(maps.Keys(info.State.Subjects))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list the queue %s: %w", filter, b.class(ctx, err))
	}
	return subjects, nil
}

// Purge takes what filter matches off the queue. Workers that have such a task at hand do not notice: the fence stops
// them. The subjects can be enqueued again at once.
func (b *Bus) Purge(ctx context.Context, filter string) error {
	if err := checkFilter(filter, prefixTask); err != nil {
		return fmt.Errorf("purge: %w", err)
	}
	_, err := b.attempt(ctx, []string{"$JS.API.STREAM.PURGE." + streamTasks}, func(ctx context.Context) error {
		return b.tasks.Purge(ctx, jetstream.WithPurgeSubject(filter))
	})
	if err != nil {
		return fmt.Errorf("purge %s: %w", filter, b.class(ctx, err))
	}
	return nil
}

// QueueOptions are a role's terms. They are shared by all its workers; the last one to open the queue sets them.
type QueueOptions struct {
	// Run limits the queue to the tasks of one run, so that processes that each own a run can share a server. On one server
	// a role is served either run by run or all together.
	Run string
	// AckWait without a sign of life and the task goes to another worker. Default 15 seconds.
	AckWait time.Duration
	// MaxDeliver is how often a task is delivered before it is left in the queue, -1 for no limit. Default 6.
	MaxDeliver int
}

// Queue gives out the tasks of one role.
type Queue struct {
	bus    *Bus
	role   string
	config jetstream.ConsumerConfig
}

// idleRun is how long a server remembers the queue of one run that no worker serves.
const idleRun = 24 * time.Hour

// Queue opens the queue of a role, of one run or of all runs together.
func (b *Bus) Queue(ctx context.Context, role string, o QueueOptions) (*Queue, error) {
	if !ValidToken(role) {
		return nil, fmt.Errorf("open a queue: %w: role %q (letters, digits, - and _ only)", ErrSubject, role)
	}
	if o.Run != "" && !ValidToken(o.Run) {
		return nil, fmt.Errorf("open a queue: %w: run %q (letters, digits, - and _ only)", ErrSubject, o.Run)
	}
	q := &Queue{bus: b, role: role, config: o.terms(role)}
	if err := q.ensure(ctx); err != nil {
		return nil, fmt.Errorf("open the queue of role %s: %w", role, b.class(ctx, err))
	}
	return q, nil
}

// terms are what the server is told of the queue of a role.
func (o QueueOptions) terms(role string) jetstream.ConsumerConfig {
	c := jetstream.ConsumerConfig{
		Durable: role, FilterSubject: subject(prefixTask, role) + ".>", AckPolicy: jetstream.AckExplicitPolicy,
		AckWait: cmp.Or(o.AckWait, defaultAckWait), MaxAckPending: -1, MaxDeliver: cmp.Or(o.MaxDeliver, defaultMaxDeliver),
		MaxWaiting: maxWaiting, MaxRequestBatch: 1,
	}
	if o.Run != "" {
		c.Durable, c.FilterSubject = role+"--"+o.Run, subject(prefixTask, role, o.Run)+".>"
		c.InactiveThreshold = idleRun
	}
	return c
}

// sound refuses terms by which no task of a role would come to another worker, as those of a queue of all runs together.
func sound(request []byte) error {
	var asked struct {
		Stream string                   `json:"stream_name"`
		Action string                   `json:"action"`
		Config jetstream.ConsumerConfig `json:"config"`
	}
	terms := json.NewDecoder(bytes.NewReader(request))
	terms.DisallowUnknownFields() // the server may know what the client library does not
	if err := terms.Decode(&asked); err != nil {
		return fmt.Errorf("the terms of a queue cannot be read: %w", err)
	}
	c := asked.Config
	c.Name = ""
	role, run, _ := strings.Cut(strings.TrimSuffix(strings.TrimPrefix(c.FilterSubject, prefixTask+"."), ".>"), ".")
	want := QueueOptions{Run: run, AckWait: c.AckWait, MaxDeliver: c.MaxDeliver}.terms(role)
	if run == "" || c.AckWait < minAckWait || c.AckWait > maxAckWait || c.MaxDeliver > 0 && c.MaxDeliver < defaultMaxDeliver ||
		!reflect.DeepEqual(c, want) {
		return fmt.Errorf("the queue %.80q has other terms than those of a worker", c.Durable)
	}
	return nil
}

func (q *Queue) ensure(ctx context.Context) error {
	_, err := q.bus.attempt(ctx, []string{"$JS.API.CONSUMER.CREATE." + streamTasks + ".>"}, func(ctx context.Context) error {
		_, err := q.bus.tasks.CreateOrUpdateConsumer(ctx, q.config)
		return err
	})
	return err
}

// Next waits for a task until ctx ends. It asks for one task only, so no task ever waits behind another
// in this process, and one that arrives just as ctx ends is handed back at once. Many goroutines may call it.
func (q *Queue) Next(ctx context.Context) (*Delivery, error) {
	wait := firstWait
	for {
		starts := q.bus.starts()
		m, err := q.pull(ctx)
		switch {
		case err == nil && m != nil:
			return q.bus.delivery(m)
		case err == nil:
			wait = firstWait // the request ran out; ask again
			continue
		case errors.Is(err, ErrDenied) || ctx.Err() != nil || q.bus.isClosing() || q.bus.nc.IsClosed():
			return nil, fmt.Errorf("next task of role %s: %w", q.role, q.bus.class(ctx, err))
		}
		q.bus.log.Debug().Err(err).Str("role", q.role).Msg("asking for a task failed; trying again")
		if err := pause(ctx, q.bus.closing, wait); err != nil {
			return nil, fmt.Errorf("next task of role %s: %w", q.role, err)
		}
		wait = min(2*wait, longestWait)
		if errors.Is(err, errConsumerGone) {
			err = q.ensure(ctx)
		}
		if fault := q.bus.fault(err); err != nil && fault != nil {
			if fault = q.bus.repair(ctx, starts, fault); fault != nil {
				return nil, fmt.Errorf("next task of role %s: %w", q.role, q.bus.class(ctx, fault))
			}
		}
	}
}

// What a worker answers to a delivery.
var (
	ackDone     = []byte("+ACK")
	ackNak      = []byte("-NAK")
	ackProgress = []byte("+WPI")
	ackTerm     = []byte("+TERM ")
)

// Delivery is a task handed to this worker. It goes to another one when AckWait passes without InProgress, so its work
// must be fenced: a late Ack of this delivery would end the task for its successor too.
type Delivery struct {
	Subject    string
	ID         string // as given to Enqueue
	Data       []byte
	Number     int // 1 for the first delivery of the task
	AckSubject string
	bus        *Bus
}

func (b *Bus) delivery(m *nats.Msg) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("delivery of %s: %w", m.Subject, err)
	}
	return &Delivery{
		Subject: m.Subject, ID: m.Header.Get(headerTask), Data: m.Data,
		Number: int(meta.NumDelivered), AckSubject: m.Reply, bus: b,
	}, nil
}

// InProgress restarts AckWait. It returns when the sign of life is on its way; whether the task is still this worker's
// cannot be learnt from it.
func (d *Delivery) InProgress(ctx context.Context) error {
	if ctx.Err() != nil {
		return fmt.Errorf("keep %s: %w", d.Subject, context.Cause(ctx))
	}
	if err := d.bus.nc.Publish(d.AckSubject, ackProgress); err != nil {
		return fmt.Errorf("keep %s: %w", d.Subject, d.bus.class(ctx, err))
	}
	return nil
}

// Ack takes the task off the queue, and waits until the server has done so. Lost answers are retried. Its result must be
// in the log first.
func (d *Delivery) Ack(ctx context.Context) error {
	if err := d.bus.settle(ctx, d.AckSubject, ackDone); err != nil {
		return fmt.Errorf("acknowledge %s: %w", d.Subject, err)
	}
	return nil
}

// Nak returns the task, to be delivered again at once.
func (d *Delivery) Nak(ctx context.Context) error {
	if err := d.bus.settle(ctx, d.AckSubject, ackNak); err != nil {
		return fmt.Errorf("hand back %s: %w", d.Subject, err)
	}
	return nil
}

// NakAfter returns the task, to be delivered again after a delay, of 10 minutes at most.
func (d *Delivery) NakAfter(ctx context.Context, delay time.Duration) error {
	answer := fmt.Appendf(nil, `%s {"delay": %d}`, ackNak, min(delay, maxDelay).Nanoseconds())
	if err := d.bus.settle(ctx, d.AckSubject, answer); err != nil {
		return fmt.Errorf("hand back %s: %w", d.Subject, err)
	}
	return nil
}

// Term takes the task off the queue for good; reason is for people who watch the server.
func (d *Delivery) Term(ctx context.Context, reason string) error {
	clean := strings.Join(strings.Fields(reason), " ")
	if err := d.bus.settle(ctx, d.AckSubject, append(ackTerm[:len(ackTerm):len(ackTerm)], clean...)); err != nil {
		return fmt.Errorf("terminate %s: %w", d.Subject, err)
	}
	return nil
}

// settle sends an answer and returns when the server has acted on it. The server says yes to every answer, also to one
// that comes too late.
func (b *Bus) settle(ctx context.Context, ackSubject string, answer []byte) error {
	_, err := b.attempt(ctx, []string{ackSubject}, func(ctx context.Context) error {
		_, err := b.nc.RequestWithContext(ctx, ackSubject, answer)
		return err
	})
	return b.class(ctx, err)
}
