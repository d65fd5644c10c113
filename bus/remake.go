package bus

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// rest is the store under a directory that no process owns, with the copy of its log.
type rest struct {
	dir                  string
	log, objects, leases *files
	damage               string // why the store has to be made again; "" for not
}

// restOf reads a store. The caller closes the copy of its log.
func restOf(dir string) (*rest, error) {
	r := &rest{
		dir: dir, log: streamIn(dir, streamEvents), objects: streamIn(dir, streamObjects), leases: streamIn(dir, streamLeases),
	}
	if err := errors.Join(r.log.found(), r.objects.found(), r.leases.found()); err != nil {
		return nil, err
	}
	c, err := readCopy(dir)
	if err != nil {
		return nil, err
	}
	damage := fmt.Sprintf("it has nothing behind %d, and the copy of its log has", r.log.end())
	if len(r.log.gaps) > 0 {
		damage = r.log.gaps[0].String()
	}
	if r.log.complete(c) {
		r.damage = damage
	}
	return r, nil
}

// sound returns an error that wraps ErrDamaged where something of the log or the objects is lost that others follow.
func (r *rest) sound() error {
	for _, s := range []*files{r.objects, r.log} {
		if len(s.gaps) > 0 && (s.copy == nil || len(s.copy.places) == 0 || s.gaps[0].from <= s.end()) {
			return fmt.Errorf("%w: of stream %s %s", ErrDamaged, s.name, s.gaps[0])
		}
	}
	return nil
}

// content is what a stream is made of again, and the position behind which it continues.
type content struct {
	stream   string
	messages iter.Seq2[*jetstream.RawStreamMsg, error]
	last     uint64
}

// all yields what could be read of a stream, and then more.
func (s *files) all(more ...*jetstream.RawStreamMsg) iter.Seq2[*jetstream.RawStreamMsg, error] {
	return func(yield func(*jetstream.RawStreamMsg, error) bool) {
		for i := range s.places {
			if m, err := s.message(&s.places[i]); !yield(m, err) || err != nil {
				return
			}
		}
		for _, m := range more {
			if !yield(m, nil) {
				return
			}
		}
	}
}

// The directories of a store that is made again, while that is done and once it is complete, and the beginning of the name of the
// one with the store that it replaces.
const (
	remaking = "remaking"
	remade   = "remade"
	damaged  = "damaged-"
	storeDir = "jetstream"
)

// remake has a server make the store of a directory again. The store before it stays beside it. A process that is killed
// meanwhile leaves one of the two in its place, or settle puts it there.
func remake(ctx context.Context, o Options, all []content, then func(context.Context, *Bus) error) (err error) {
	dir := o.Dir
	o.Dir, o.Sync = filepath.Join(dir, remaking), new(bool) // all of it is brought to the disk at once
	if err := os.RemoveAll(o.Dir); err != nil {
		return fmt.Errorf("%w: remove a store that was not completed: %w", ErrUnavailable, err)
	}
	if err := restoreAll(ctx, o, all, then); err != nil {
		return errors.Join(fmt.Errorf("make the store in %s again: %w", dir, err), os.RemoveAll(o.Dir))
	}
	if err := errors.Join(syncBelow(o.Dir), os.Rename(o.Dir, filepath.Join(dir, remade))); err != nil {
		return fmt.Errorf("%w: make the store in %s again: %w", ErrUnavailable, dir, err)
	}
	return settle(dir)
}

// settle puts a store that was made again in its place.
func settle(dir string) error {
	made := filepath.Join(dir, remade, storeDir)
	if _, err := os.Stat(made); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	at := filepath.Join(dir, storeDir)
	err := os.Rename(at, filepath.Join(dir, damaged+time.Now().UTC().Format("20060102-150405.000")))
	if err == nil || errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(os.Rename(made, at), os.RemoveAll(filepath.Join(dir, remade)))
	}
	if err != nil {
		return fmt.Errorf("%w: put the store that was made again in its place: %w", ErrUnavailable, err)
	}
	return nil
}

// restoreAll has a server of its own restore streams into a directory, and make those that are missing.
func restoreAll(ctx context.Context, o Options, all []content, then func(context.Context, *Bus) error) (err error) {
	b := &Bus{dir: o.Dir, log: o.Log}
	b.init()
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	h, err := b.serve(Options{Dir: o.Dir, Sync: o.Sync, Log: o.Log})
	if err == nil {
		err = b.connect(h)
	}
	if err != nil {
		return err
	}
	configs := map[string]jetstream.StreamConfig{}
	for _, config := range streamConfigs(1) {
		configs[config.Name] = config
	}
	for _, c := range all {
		if c.last == 0 {
			continue
		}
		if err := b.restore(ctx, configs[c.stream], server.StreamState{FirstSeq: 1, LastSeq: c.last}, c.messages); err != nil {
			return err
		}
	}
	if err := b.openStreams(ctx, 1); err != nil {
		return err
	}
	return then(ctx, b)
}

// syncBelow brings the files below a directory to the disk.
func syncBelow(dir string) error {
	return filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		f, err := os.Open(path)
		if err == nil {
			err = errors.Join(f.Sync(), f.Close())
		}
		return err
	})
}

// mend makes the store of a directory that this process has locked again, where that is damaged and the copy has its log.
func (b *Bus) mend(ctx context.Context, o Options) error {
	if err := settle(o.Dir); err != nil {
		return err
	}
	r, err := restOf(o.Dir)
	if err != nil {
		return err
	}
	b.rest = r
	if err := r.sound(); err != nil || r.damage == "" {
		return err
	}
	return b.remake(ctx, o, r.damage)
}

// remake makes the store again of what can be read of it, and notes what a person should be told.
func (b *Bus) remake(ctx context.Context, o Options, damage string) error {
	r := b.rest
	last := r.log.end()
	if n := len(r.log.gaps); n > 0 {
		b.cutOff = r.log.gaps[n-1].String()
		if to := r.log.gaps[n-1].to; to != ever {
			last = to // what expects one of those positions is refused
		}
	}
	err := remake(ctx, o, []content{
		{streamEvents, r.log.all(), last},
		{streamObjects, r.objects.all(), r.objects.end()},
		{streamLeases, r.leases.all(), r.leases.end()},
	}, func(ctx context.Context, b *Bus) error { return b.expectGaps(ctx) })
	if err != nil {
		return err
	}
	b.remade = fmt.Sprintf("the store was damaged: %s; it was made again, with %d events and %d messages of objects, and what "+
		"was there is kept in %s", damage, len(r.log.places), len(r.objects.places),
		filepath.Join(o.Dir, damaged+"*"))
	return nil
}

// CutOff returns a text about the messages that are lost at the end of the log; "" for none.
func (b *Bus) CutOff() string { return b.cutOff }

// Remade returns a text about a store that was damaged and was made again; "" where it was not.
func (b *Bus) Remade() string { return b.remade }

// HasStore reports whether a directory has a store, or the copy of the log of one.
func HasStore(dir string) bool {
	_, err := os.Stat(filepath.Join(dir, storeDir))
	if err != nil {
		_, err = os.Stat(filepath.Join(dir, copyName))
	}
	return err == nil
}
