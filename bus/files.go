package bus

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// files is one stream of a store that no process owns, read from its files, or the copy of a log. It has what a Bus reads of a
// stream; the other methods of the interface must not be called.
type files struct {
	jetstream.Stream

	name       string
	store, dir string // the store's directory, and that of the stream in it
	// found finds the messages when it is first called; what follows is set then.
	found  func() error
	blocks []string
	places []place // in the order of their sequences
	newest uint64  // the newest position that it names, also of a message that was removed
	gaps   []gap
	copy   *copied // of the log

	mu     sync.Mutex // guards what follows: the block that was read last
	block  int
	data   []byte
	hasher hasher
}

// gap is where messages are lost, from one sequence to another, inclusive. to is ever where it is not known how many.
type gap struct {
	from, to uint64
	why      string
}

const ever = ^uint64(0)

func (g gap) String() string {
	switch g.to {
	case ever:
		return fmt.Sprintf("what follows %d may be lost: %s", g.from-1, g.why)
	case g.from:
		return fmt.Sprintf("message %d is lost: %s", g.from, g.why)
	}
	return fmt.Sprintf("%d messages are lost, %d to %d: %s", g.to-g.from+1, g.from, g.to, g.why)
}

// OpenFiles reads the store of a directory that no process owns, and writes nothing: the log from its copy, and what that lacks
// from the files of the store. What is sound before and behind damaged bytes is there; what is lost is a message with Lost.
// *LockedError when a process owns the directory. Read, Last, Get and Close can be called.
func OpenFiles(dir, run string) (*Bus, error) {
	release, err := share(dir)
	if errors.Is(err, errLocked) {
		return nil, lockedBy(filepath.Join(dir, lockName))
	}
	if err != nil {
		return nil, err
	}
	c, err := readCopy(dir)
	if err != nil {
		return nil, errors.Join(err, release())
	}
	events := &files{copy: c, places: c.places, found: func() error { return nil }}
	if !c.whole() {
		events = streamIn(dir, streamEvents)
		if err = events.found(); err == nil {
			events.complete(c)
		}
	}
	if err = errors.Join(err, release()); err != nil {
		return nil, errors.Join(err, c.close())
	}
	b := &Bus{dir: dir, run: run, files: events}
	b.init()
	b.events, b.objects, b.cache = events, streamIn(dir, streamObjects), streamIn(dir, streamCache)
	return b, nil
}

// complete adds to a log what it lacks and its copy has: what was removed from it is not lost. It reports whether the store lacks
// something; what both lack are gaps then.
func (s *files) complete(c *copied) (lacks bool) {
	if n := len(s.gaps); c.last > s.newest && (n == 0 || s.gaps[n-1].to != ever) {
		s.gaps = append(s.gaps, gap{s.end() + 1, ever, "the end of the log was cut off"})
	}
	lacks = len(s.gaps) > 0
	var both []gap
	for _, a := range s.gaps {
		for _, b := range c.gaps {
			if from, to := max(a.from, b.from), min(a.to, b.to); from <= to {
				both = append(both, gap{from, to, a.why})
			}
		}
	}
	lost := slices.DeleteFunc(slices.Clone(c.places), func(p place) bool {
		return !slices.ContainsFunc(s.gaps, func(g gap) bool { return g.from <= p.seq && p.seq <= g.to })
	})
	all := slices.Concat(s.places, lost)
	slices.SortStableFunc(all, func(a, b place) int { return cmp.Compare(a.seq, b.seq) }) // the store is the truth
	s.copy, s.gaps = c, both
	s.places = slices.CompactFunc(all, func(a, b place) bool { return a.seq == b.seq })
	return lacks
}

// end is the position of the newest message.
func (s *files) end() uint64 {
	if len(s.places) == 0 {
		return 0
	}
	return s.places[len(s.places)-1].seq
}

// streamDir is where a stream is, below the directory of a store.
func streamDir(name string) string { return filepath.Join("jetstream", "$G", "streams", name) }

// streamIn is a stream of the store under a directory. One that was never made has no messages.
func streamIn(dir, name string) *files {
	s := &files{name: name, store: dir, dir: filepath.Join(dir, streamDir(name), "msgs"), block: -1}
	s.found = sync.OnceValue(s.find)
	return s
}

func (s *files) find() error {
	numbers, err := s.list()
	if err != nil {
		return err
	}
	var known gaps
	if s.name != streamLeases {
		if known, err = gapsIn(s.store); err != nil {
			return err
		}
	}
	last, why, gone := uint64(0), "", map[uint64]bool{}
	for i, number := range numbers {
		path := filepath.Join(s.dir, fmt.Sprintf("%d.blk", number))
		s.blocks = append(s.blocks, path)
		found, damaged, err := s.scan(i, last, i == len(numbers)-1)
		if err != nil {
			return err
		}
		if damaged {
			why = path + " is damaged"
		}
		for _, p := range found {
			s.newest = max(s.newest, p.seq)
			if p.gone {
				gone[p.seq] = true
				continue
			}
			if p.seq != last+1 && (why != "" || !known.free(s.name, p.seq-1)) {
				s.gaps = append(s.gaps, gap{last + 1, p.seq - 1, cmp.Or(why, "a file is missing in "+s.dir)})
				why = ""
			}
			last, p.block = p.seq, i
			s.places = append(s.places, p)
		}
	}
	if why != "" {
		s.gaps = append(s.gaps, gap{last + 1, ever, why})
	}
	s.places = slices.DeleteFunc(s.places, func(p place) bool { return gone[p.seq] })
	return nil
}

// list returns the numbers of the stream's blocks.
func (s *files) list() (numbers []uint32, err error) {
	entries, err := os.ReadDir(s.dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%w: list the store: %w", ErrUnavailable, err)
	}
	for _, e := range entries {
		name, block := strings.CutSuffix(e.Name(), ".blk")
		if n, err := strconv.ParseUint(name, 10, 32); block && err == nil {
			numbers = append(numbers, uint32(n))
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

func (s *files) scan(block int, after uint64, newest bool) ([]place, bool, error) {
	whole, err := s.load(block)
	if err != nil || !whole {
		return nil, !whole, err
	}
	found, damaged := s.hasher.places(s.data, after, newest)
	return found, damaged, nil
}

// load reads a block, unless it was the last one that was read. It is false where a compressed one cannot be decompressed.
func (s *files) load(block int) (whole bool, err error) {
	if s.block == block {
		return true, nil
	}
	path := s.blocks[block]
	number, err := strconv.ParseUint(strings.TrimSuffix(filepath.Base(path), ".blk"), 10, 32)
	if err == nil {
		s.hasher, err = newHasher(s.name, uint32(number))
	}
	if err != nil {
		return false, err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return false, fmt.Errorf("%w: read the store: %w", ErrUnavailable, err)
	}
	s.block = -1
	if s.data, err = decompress(data); err != nil {
		return false, nil //nolint:nilerr // it is damaged, which is not an error of reading
	}
	s.block = block
	return true, nil
}

func (s *files) message(p *place) (*jetstream.RawStreamMsg, error) {
	if p.block == inCopy {
		return s.copy.message(p)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	whole, err := s.load(p.block)
	if err != nil {
		return nil, err
	}
	r, ok := record{}, false
	if whole && p.at <= len(s.data) {
		r, ok = s.hasher.record(s.data[p.at:])
	}
	if !ok || r.seq != p.seq {
		return nil, fmt.Errorf("%w: %s changed while it was read", ErrUnavailable, s.blocks[p.block])
	}
	m := &jetstream.RawStreamMsg{Subject: r.subject, Sequence: r.seq, Data: r.data, Time: time.Unix(0, r.time).UTC()}
	if len(r.header) > 0 {
		if m.Header, err = nats.DecodeHeadersMsg(r.header); err != nil {
			return nil, fmt.Errorf("read the headers of message %d: %w", r.seq, err)
		}
	}
	return m, nil
}

// GetLastMsgForSubject implements jetstream.Stream.
func (s *files) GetLastMsgForSubject(_ context.Context, filter string) (*jetstream.RawStreamMsg, error) {
	if err := s.found(); err != nil {
		return nil, err
	}
	for i := len(s.places) - 1; i >= 0; i-- {
		if covers(filter, s.places[i].subject) {
			return s.message(&s.places[i])
		}
	}
	if len(s.gaps) > 0 && s.name == streamObjects {
		return nil, fmt.Errorf("%w: it may be lost with others: %s", ErrDamaged, s.gaps[0])
	}
	return nil, jetstream.ErrMsgNotFound
}

// read yields what filter matches, and each gap in its place.
func (s *files) read(ctx context.Context, filter string, from uint64) iter.Seq2[Message, error] {
	return func(yield func(Message, error) bool) {
		gaps, at := s.gaps, time.Time{}
		lost := func(before uint64) bool {
			for ; len(gaps) > 0 && gaps[0].from < before; gaps = gaps[1:] {
				if gaps[0].from >= from && !yield(Message{Pos: gaps[0].from, Lost: gaps[0].String(), Time: at}, nil) {
					return false
				}
			}
			return true
		}
		for i := range s.places {
			p := &s.places[i]
			if p.seq < from || !covers(filter, p.subject) {
				continue
			}
			if !lost(p.seq) {
				return
			}
			m, err := s.message(p)
			if err = errors.Join(err, ctx.Err()); err != nil {
				yield(Message{}, fmt.Errorf("read: %w", err))
				return
			}
			at = m.Time
			if !yield(Message{Subject: m.Subject, Pos: m.Sequence, Data: m.Data, Time: m.Time}, nil) {
				return
			}
		}
		lost(^uint64(0))
	}
}
