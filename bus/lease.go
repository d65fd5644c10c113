package bus

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
)

// leaseTime is how long a lease lasts that its holder does not renew, leaseBeats how often who waits for it reads in that time.
const (
	leaseTime  = 15 * time.Second
	leaseBeats = 5
)

// ErrLeaseLost reports that a lease is another's, or may be by now.
var ErrLeaseLost = errors.New("bus: the lease was lost")

// ErrTwin is ErrLeaseLost to another process that has the name of this holder, as a copy of its directory has.
var ErrTwin = fmt.Errorf("%w to another process of the same name", ErrLeaseLost)

// errRecord reports a record that this program cannot read.
var errRecord = errors.New("another program has written it")

// Lease is the right to act alone for all who use a server, such as to conduct its runs. Its record is on the server; the place
// of the record in its stream is the epoch, which grows with each write, and a write that expects an older one is refused. No
// clock is compared with that of another machine: who waits measures how long the record has not changed, and a holder by how
// much its own clocks, both of them, have moved since it last wrote. The monotonic one stands still while a machine sleeps.
// See Gray and Cheriton, Leases (1989). Its methods may be called by many goroutines at once.
type Lease struct {
	bus    *Bus
	name   string
	holder string
	term   string // tells the record of this Lease from one that another process wrote under the same holder
	time   time.Duration
	beat   time.Duration // between two looks of who waits for it
	clock  func() time.Time

	mu    sync.Mutex
	epoch uint64
	since time.Time // when the last write that was stored began
	lost  bool
}

// leaseRecord is a lease on the server. Without a holder it was given up, or is not there.
type leaseRecord struct {
	Holder string          `json:"holder,omitempty"`
	Term   string          `json:"term,omitempty"`
	Note   json.RawMessage `json:"note,omitempty"`
}

// NewLease returns a lease that is not held yet, and lasts for a time, 0 for the usual one. The name is one token of a subject. A
// holder that was killed takes its lease back at once: two processes must never use the same one at a time.
func (b *Bus) NewLease(name, holder string, lasts time.Duration) *Lease {
	lasts = cmp.Or(lasts, leaseTime)
	return &Lease{bus: b, name: name, holder: holder, time: lasts, beat: lasts / leaseBeats, clock: time.Now, lost: true}
}

// Take waits until the lease is this holder's, and returns the note of the one before. other is called with the note of each
// record that another holder writes meanwhile; it must not block. A server that is away is waited for.
func (l *Lease) Take(ctx context.Context, other func(note []byte)) (note []byte, err error) {
	var seen uint64
	var since time.Time
	for {
		rec, at, err := l.read(ctx)
		switch {
		case ctx.Err() != nil:
			return nil, fmt.Errorf("wait for lease %s: %w", l.name, context.Cause(ctx))
		case errors.Is(err, ErrDenied), errors.Is(err, ErrClosed), errors.Is(err, ErrSubject), errors.Is(err, errRecord):
			return nil, err
		case err != nil:
			l.bus.log.Debug().Err(err).Str("lease", l.name).Msg("the lease cannot be read")
			seen, since = 0, time.Time{} // the holder may not have reached the server either
		default:
			if at != seen || since.IsZero() {
				seen, since = at, l.clock()
				if !rec.free(l.holder) {
					other(rec.Note)
				}
			}
			if rec.free(l.holder) || l.clock().Sub(since) >= l.time {
				err := l.begin(ctx, rec.Note, at)
				if err == nil {
					return rec.Note, nil
				}
				l.bus.log.Info().Err(err).Str("lease", l.name).Msg("the lease was not taken")
			}
		}
		if err := pause(ctx, l.bus.closing, l.beat); err != nil {
			return nil, fmt.Errorf("wait for lease %s: %w", l.name, err)
		}
	}
}

func (r *leaseRecord) free(holder string) bool { return r.Holder == "" || r.Holder == holder }

// begin writes the record of a new term.
func (l *Lease) begin(ctx context.Context, note []byte, after uint64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.term = rand.Text()
	return l.write(ctx, leaseRecord{Holder: l.holder, Term: l.term, Note: note}, after)
}

// Keep renews the lease and writes what note returns then, as JSON, for the next holder. ErrLeaseLost when it is another's; after
// any other error the lease is held until its time is over. Where the store is full a record that is still there renews it.
func (l *Lease) Keep(ctx context.Context, note func() any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.held(); err != nil {
		return err
	}
	ctx, cancel := context.WithDeadline(ctx, l.since.Add(l.time))
	defer cancel()
	data, err := json.Marshal(note())
	if err != nil {
		return fmt.Errorf("encode the note of lease %s: %w", l.name, err)
	}
	mine, since := leaseRecord{Holder: l.holder, Term: l.term, Note: data}, l.clock()
	failed := l.write(ctx, mine, l.epoch)
	if !errors.Is(failed, ErrFenced) && !errors.Is(failed, ErrFull) {
		return failed
	}
	rec, at, err := l.read(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("renew lease %s: %w", l.name, err)
	case rec.Term != l.term && rec.Holder == l.holder:
		l.lost = true
		return fmt.Errorf("renew lease %s: %w", l.name, ErrTwin)
	case rec.Term != l.term:
		l.lost = true
		return fmt.Errorf("renew lease %s: %w", l.name, ErrLeaseLost)
	case errors.Is(failed, ErrFull): // no other holder can write either
		l.since = since
		return failed
	}
	return l.write(ctx, mine, at) // an earlier write whose answer was lost
}

// Held returns ErrLeaseLost when the lease may be another's by now.
func (l *Lease) Held() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.held()
}

func (l *Lease) held() error {
	now := l.clock()
	if max(now.Sub(l.since), now.Round(0).Sub(l.since.Round(0))) >= l.time {
		l.lost = true // for good, should a clock be put back
	}
	if l.lost {
		return fmt.Errorf("%w: %s", ErrLeaseLost, l.name)
	}
	return nil
}

// Release gives the lease up, so that the next holder need not wait. The note stays for it.
func (l *Lease) Release(ctx context.Context, note func() any) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held() != nil {
		return nil
	}
	data, err := json.Marshal(note())
	if err == nil {
		err = l.write(ctx, leaseRecord{Note: data}, l.epoch)
	}
	l.lost = true
	return err
}

func (l *Lease) read(ctx context.Context) (rec leaseRecord, at uint64, err error) {
	subject := subject(prefixLease, l.name)
	if err := checkSubject(subject, prefixLease); err != nil {
		return rec, 0, err
	}
	m, err := l.bus.newest(ctx, l.bus.leases, subject)
	if err != nil {
		return rec, 0, fmt.Errorf("read lease %s: %w", l.name, err)
	}
	if m == nil {
		return rec, 0, nil
	}
	if err := json.Unmarshal(m.Data, &rec); err != nil {
		return rec, 0, fmt.Errorf("read lease %s: %w: %w", l.name, errRecord, err)
	}
	return rec, m.Sequence, nil
}

// write stores a record behind another one. The caller has the lock.
func (l *Lease) write(ctx context.Context, rec leaseRecord, after uint64) error {
	data, err := json.Marshal(rec)
	if err != nil {
		return fmt.Errorf("encode lease %s: %w", l.name, err)
	}
	since, subject := l.clock(), subject(prefixLease, l.name)
	at, err := l.bus.store(ctx, l.bus.leases, &nats.Msg{Subject: subject, Data: data}, subject, after)
	if err != nil {
		return fmt.Errorf("write lease %s: %w", l.name, err)
	}
	l.epoch, l.since, l.lost = at, since, false
	return nil
}
