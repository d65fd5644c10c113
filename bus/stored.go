package bus

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// RestoredSubject is where a log says that it goes on from a copy: its newest message is at the position from which it does.
const RestoredSubject = prefixLog + ".restored"

// A log that goes on from a copy leaves out the positions that its server can have given out since: a store that waits for the
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
	if _, err := undamaged(dir); err != nil {
		return c, err
	}
	events, objects := streamIn(dir, streamEvents), streamIn(dir, streamObjects)
	if err := errors.Join(events.found(), objects.found()); err != nil {
		return c, err
	}
	for _, p := range events.places {
		c.Position = p.seq
		if p.subject != RestoredSubject {
			c.Events++
		}
	}
	c.Objects = len(objects.places)
	return c, nil
}

// Advance has the copy of a store, which no process owns, go on far behind all positions that its server gave out after the copy
// was made: who still has one of them can neither append nor renew a lease after it. It returns the position from which it does.
func Advance(dir string, now time.Time) (from uint64, err error) {
	events := streamIn(dir, streamEvents)
	if err := events.found(); err != nil {
		return 0, err
	}
	next := uint64(atLeast)
	if n := len(events.places); n > 0 {
		newest, err := events.message(&events.places[n-1])
		if err != nil {
			return 0, err
		}
		next += newest.Sequence + perSecond*uint64(max(0, now.Sub(newest.Time)/time.Second))
	}
	known, err := gapsIn(dir)
	if err != nil {
		return 0, err
	}
	known.Restored = append(known.Restored, next)
	if err := events.trim(); err != nil {
		return 0, err
	}
	mark := record{seq: next, time: now.UnixNano(), subject: RestoredSubject, data: []byte("{}")}
	if err := events.write(mark); err != nil {
		return 0, err
	}
	return next, advanceLeases(dir, next, now, known)
}

// advanceLeases writes the newest record of each lease anew, from a position on.
func advanceLeases(dir string, next uint64, now time.Time, known gaps) error {
	leases := streamIn(dir, streamLeases)
	if err := leases.found(); err != nil {
		return err
	}
	data, err := json.Marshal(known)
	if err != nil {
		return fmt.Errorf("encode which positions are free: %w", err)
	}
	all, had := []record{{seq: next, time: now.UnixNano(), subject: gapsSubject, data: data}}, map[string]bool{gapsSubject: true}
	for i := len(leases.places) - 1; i >= 0; i-- {
		p := leases.places[i]
		if had[p.subject] {
			continue
		}
		had[p.subject] = true
		m, err := leases.message(&p)
		if err != nil {
			return err
		}
		next++
		all = append(all, record{seq: next, time: now.UnixNano(), subject: p.subject, data: m.Data})
	}
	for _, path := range leases.blocks {
		if err := os.Remove(path); err != nil {
			return fmt.Errorf("write the leases anew: %w", err)
		}
	}
	return streamIn(dir, streamLeases).write(all...)
}

// trim cuts off, at the end of the newest block, a record that was copied while it was written: it was not acknowledged then, and
// would be damage in a block that is not the newest.
func (s *files) trim() error {
	if len(s.blocks) == 0 {
		return nil
	}
	newest := len(s.blocks) - 1
	whole, err := s.load(newest)
	if err != nil || !whole {
		return errors.Join(err, ErrDamaged)
	}
	_, end := s.hasher.chain(s.data, 0, 0)
	if end == len(s.data) { // so is one that was compressed: it was whole before
		return nil
	}
	if err := os.Truncate(s.blocks[newest], int64(end)); err != nil {
		return fmt.Errorf("cut off the end of stream %s: %w", s.name, err)
	}
	return nil
}

// write writes records as the next block of a stream that no process owns.
func (s *files) write(all ...record) error {
	numbers, err := s.list()
	if err != nil {
		return err
	}
	number := uint32(1)
	if len(numbers) > 0 {
		number = numbers[len(numbers)-1] + 1
	}
	h, err := newHasher(s.name, number)
	if err != nil {
		return err
	}
	var block []byte
	for _, r := range all {
		block = append(block, h.encode(r)...)
	}
	err = os.MkdirAll(s.dir, 0o700)
	if err == nil {
		err = os.WriteFile(filepath.Join(s.dir, fmt.Sprintf("%d.blk", number)), block, 0o600)
	}
	if err != nil {
		return fmt.Errorf("write a block of stream %s: %w", s.name, err)
	}
	return nil
}

// encode is a record without headers as a block has it.
func (h hasher) encode(r record) []byte {
	size := recordHead + len(r.subject) + len(r.data) + recordHash
	b := binary.LittleEndian.AppendUint32(make([]byte, 0, size), uint32(size))
	b = binary.LittleEndian.AppendUint64(b, r.seq)
	b = binary.LittleEndian.AppendUint64(b, uint64(r.time))
	b = binary.LittleEndian.AppendUint16(b, uint16(len(r.subject)))
	b = append(append(b, r.subject...), r.data...)
	h.hash.Reset()
	for _, part := range [][]byte{b[4:20], b[recordHead:]} {
		_, _ = h.hash.Write(part) // a hash takes everything
	}
	return binary.LittleEndian.AppendUint64(b, h.hash.Sum64())
}
