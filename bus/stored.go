package bus

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// RestoredSubject is where a log reports that it continues from a copy: its newest message is at the position from which it does.
const RestoredSubject = prefixLog + ".restored"

// A log that continues from a copy leaves out the positions that its server can have dispatched since: a store that waits for the
// disk gives out fewer than perSecond, and clocks may differ by what atLeast stands for.
const (
	perSecond = 1 << 10
	atLeast   = 1 << 20
)

// Stored lists, below the directory of a store, the directories of the streams that are copied for a backup, in the order in
// which they are: the log comes before the objects that it refers to. The log can make the queue again, and who needs it what
// the cache has.
func Stored() []string {
	return []string{streamDir(streamEvents), streamDir(streamObjects), streamDir(streamLeases)}
}

// IsStored reports whether a file of such a directory is copied: how the stream is set up, and its messages. The others are made
// again.
func IsStored(name string) bool {
	return name == "meta.inf" || name == "meta.sum" || strings.HasSuffix(name, ".blk")
}

// Contents count what a store has: the messages of its log and their newest position, and those of its objects.
type Contents struct {
	Position uint64
	Events   int
	Objects  int
}

// Check reads every message of a store that no process owns. ErrDamaged where something of the log or the objects is lost.
func Check(dir string) (c Contents, err error) {
	r, err := restOf(dir)
	if err != nil {
		return c, err
	}
	defer r.log.copy.close() // read only
	if err := r.sound(); err != nil {
		return c, err
	}
	for _, p := range r.log.places {
		c.Position = p.seq
		if p.subject != RestoredSubject {
			c.Events++
		}
	}
	c.Objects = len(r.objects.places)
	return c, nil
}

// Advance has the copy of a store, which no process owns, go on far behind all positions that its server gave out after the copy
// was made: who still has one of them can neither append nor renew a lease after it. It returns the position from which it does.
func Advance(ctx context.Context, dir string, now time.Time) (from uint64, err error) {
	r, err := restOf(dir)
	if err != nil {
		return 0, err
	}
	defer r.log.copy.close() // read only
	from = atLeast
	if n := len(r.log.places); n > 0 {
		newest, err := r.log.message(&r.log.places[n-1])
		if err != nil {
			return 0, err
		}
		from += newest.Sequence + perSecond*uint64(max(0, now.Sub(newest.Time)/time.Second))
	}
	leases, err := r.advanced(from, now)
	if err != nil {
		return 0, err
	}
	mark := &jetstream.RawStreamMsg{Sequence: from, Time: now, Subject: RestoredSubject, Data: []byte("{}")}
	err = remake(ctx, Options{Dir: dir}, []content{
		{streamEvents, r.log.all(mark), from},
		{streamObjects, r.objects.all(), r.objects.end()},
		{streamLeases, (&files{}).all(leases...), leases[len(leases)-1].Sequence},
	}, func(context.Context, *Bus) error { return nil })
	if err != nil {
		return 0, err
	}
	return from, nil
}

// advanced are the newest records of each lease, from a position on, and which positions are free.
func (r *rest) advanced(next uint64, now time.Time) ([]*jetstream.RawStreamMsg, error) {
	known, err := gapsIn(r.dir)
	if err != nil {
		return nil, err
	}
	known.Restored = append(known.Restored, next)
	data, err := json.Marshal(known)
	if err != nil {
		return nil, fmt.Errorf("encode which positions are free: %w", err)
	}
	all := []*jetstream.RawStreamMsg{{Sequence: next, Time: now, Subject: gapsSubject, Data: data}}
	had := map[string]bool{gapsSubject: true}
	for _, p := range slices.Backward(r.leases.places) {
		if had[p.subject] {
			continue
		}
		had[p.subject] = true
		m, err := r.leases.message(&p)
		if err != nil {
			return nil, err
		}
		next++
		all = append(all, &jetstream.RawStreamMsg{Sequence: next, Time: now, Subject: p.subject, Data: m.Data})
	}
	return all, nil
}
