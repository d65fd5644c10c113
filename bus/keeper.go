package bus

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// allEvents matches every message of a log.
const allEvents = prefixLog + ".>"

// keeper keeps the copy of the log of a store: a goroutine of its own writes to it what any connection appends. The store is
// the truth, and on the disk: so the copy may stay behind, and is brought to the disk once, when it is complete.
type keeper struct {
	bus   *Bus
	mu    sync.Mutex // guards follow and anew from each other
	file  *os.File
	size  int64 // of what is written
	lines uint64
	gone  uint64 // how many messages were removed from the log when it was begun
	last  uint64 // the position of the last line
	stop  context.CancelFunc
	under sync.WaitGroup
}

// keepCopy continues with the copy of a log behind what it has of the log already.
func (b *Bus) keepCopy() error {
	size, last, lines := b.rest.log.copy.upTo(b.rest.log.places)
	if err := b.rest.log.copy.close(); err != nil {
		return fmt.Errorf("%w: close the copy of the log: %w", ErrUnavailable, err)
	}
	b.rest = nil
	f, err := os.OpenFile(filepath.Join(b.dir, copyName), os.O_WRONLY|os.O_CREATE, 0o600)
	if err != nil {
		return fmt.Errorf("%w: keep a copy of the log: %w", ErrUnavailable, err)
	}
	if err := errors.Join(f.Truncate(size), f.Sync()); err != nil { // or a crash of the machine brings an old end back
		return errors.Join(fmt.Errorf("%w: keep a copy of the log: %w", ErrUnavailable, err), f.Close())
	}
	b.keeper = &keeper{bus: b, file: f, size: size, last: last, lines: lines, gone: removedFrom(b.events.CachedInfo())}
	b.keeper.follow()
	return nil
}

// follow writes what is appended from now on, until halt.
func (k *keeper) follow() {
	ctx, cancel := context.WithCancel(context.Background())
	k.stop = cancel
	k.under.Go(func() {
		for m, err := range k.bus.tail(ctx, allEvents, k.last+1) {
			if err != nil || !k.persist(ctx, &m) {
				return
			}
		}
	})
}

// persist writes a message, and waits while the disk has no room: the log continues meanwhile. It is false where ctx ended.
func (k *keeper) persist(ctx context.Context, m *Message) bool {
	for told := false; ; told = true {
		err := k.write(m)
		if err == nil {
			return true
		}
		if !told {
			k.bus.log.Warn().Err(err).Msg("the copy of the log stays behind")
		}
		if pause(ctx, k.bus.closing, roomPoll) != nil {
			return false
		}
	}
}

// write appends a line. One that was written in part is written over.
func (k *keeper) write(m *Message) error {
	line := lineOf(k.last, m)
	if _, err := k.file.WriteAt(line, k.size); err != nil {
		return err
	}
	k.size, k.last, k.lines = k.size+int64(len(line)), m.Pos, k.lines+1
	return nil
}

func (k *keeper) halt() {
	k.stop()
	k.under.Wait()
}

// anew writes the whole copy again: messages were removed from the log.
func (k *keeper) anew() error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.bus.isClosing() {
		return nil // close does it
	}
	k.halt()
	err := k.clear()
	k.follow()
	return err
}

// renew writes the whole copy again where another process has removed messages from the log.
func (k *keeper) renew(ctx context.Context) error {
	info, err := k.bus.events.Info(ctx)
	if err != nil {
		return err
	}
	if gone := removedFrom(info); gone != k.gone {
		k.gone = gone
		return k.anew()
	}
	return nil
}

func removedFrom(info *jetstream.StreamInfo) uint64 { return info.State.LastSeq - info.State.Msgs }

func (k *keeper) clear() error {
	k.size, k.last, k.lines = 0, 0, 0
	return k.file.Truncate(0)
}

// close completes the copy, and tells so in its last line. A copy that could not be completed is when the store is next opened.
func (k *keeper) close(ctx context.Context) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.halt()
	ctx, cancel := context.WithTimeout(ctx, closePatience/2)
	defer cancel()
	err := nats.ErrDisconnected
	if k.bus.nc.IsConnected() {
		err = k.complete(ctx)
	}
	if err != nil {
		k.bus.log.Warn().Err(err).Msg("the copy of the log is not complete")
	}
	return k.file.Close()
}

// complete adds what the log has more. Nothing is appended any more. Where another process has removed messages, it writes the
// whole copy again.
func (k *keeper) complete(ctx context.Context) error {
	if err := k.bus.server.quiet(k.bus.nc); err != nil {
		return err
	}
	if err := k.catchUp(ctx); err != nil {
		return err
	}
	info, err := k.bus.events.Info(ctx)
	if err == nil && info.State.Msgs != k.lines {
		if err = k.clear(); err == nil {
			err = k.catchUp(ctx)
		}
	}
	if err != nil {
		return err
	}
	owner, err := ownerNote(k.bus.dir)
	if err != nil {
		return err
	}
	if err := k.write(&Message{Subject: ended, Pos: k.last, Data: owner, Time: time.Now()}); err != nil {
		return err
	}
	return errors.Join(k.file.Truncate(k.size), k.file.Sync())
}

func (k *keeper) catchUp(ctx context.Context) error {
	for {
		m, err := k.bus.events.GetMsg(ctx, k.last+1, jetstream.WithGetMsgSubject(allEvents))
		if errors.Is(err, jetstream.ErrMsgNotFound) {
			return nil
		}
		if err == nil {
			err = k.write(&Message{Subject: m.Subject, Pos: m.Sequence, Data: m.Data, Time: m.Time})
		}
		if err != nil {
			return err
		}
	}
}
