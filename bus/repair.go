package bus

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// roomPatience is how long calls wait for room in the store, roomPoll how often they look.
	roomPatience = 30 * time.Minute
	roomPoll     = time.Second
	// mendPoll is how often Mend looks.
	mendPoll = 2 * time.Second
	// maxRepairs bounds how often one call has the server restarted, and Mend, with less than mendCalm from one to the next.
	maxRepairs = 10
	mendCalm   = time.Minute
)

// WaitForRoom makes calls wait while the store of the server is full, or a server elsewhere does not answer, for 30 minutes at
// most. Until then they fail with ErrFull, or after some tries with ErrUnavailable. tell is called with what a person should
// read at once, one call at a time.
func (b *Bus) WaitForRoom(tell func(text string)) { b.tell.Store(&tell) }

// repair waits until the disk of the embedded server has room, and restarts the server, which keeps its first error of writing
// for good. starts is how often it was started before the call that failed, fault why that failed.
func (b *Bus) repair(ctx context.Context, starts int64, fault error) error {
	tell := b.tell.Load()
	if tell == nil {
		return fault
	}
	select {
	case b.repairing <- struct{}{}:
		defer func() { <-b.repairing }()
	case <-b.closing:
		return ErrClosed
	case <-ctx.Done():
		return fault
	}
	if b.server.starts.Load() != starts {
		return nil
	}
	after := "" // what is reported when the calls continue, "" while nothing was reported
	for end := time.Now().Add(roomPatience); ; {
		until := "there is room"
		if fault = b.server.fault(); !errors.Is(fault, ErrFull) {
			fault, until = b.restart(), "the store can be used"
		}
		switch {
		case fault == nil && after != "":
			(*tell)(after)
			return nil
		case fault == nil || errors.Is(fault, ErrDamaged) || errors.Is(fault, ErrClosed):
			return fault
		case after == "":
			(*tell)(fmt.Sprintf("%s\nThe run waits until %s, for %s at most",
				strings.TrimPrefix(fault.Error(), ErrFull.Error()+": "), until, roomPatience))
			after = fmt.Sprintf("%s again on the disk of %s: the run continues", until, b.dir)
		}
		if time.Now().After(end) || pause(ctx, b.closing, roomPoll) != nil {
			return fault
		}
	}
}

// restart restarts the embedded server, unless the bus is closing.
func (b *Bus) restart() error {
	if b.isClosing() {
		return ErrClosed
	}
	b.log.Info().Str("dir", b.dir).Msg("the message server is restarted")
	if err := b.server.restart(); err != nil {
		return err
	}
	for end := time.Now().Add(connectPatience); !b.nc.IsConnected() && time.Now().Before(end); {
		if err := pause(context.Background(), b.closing, lockPoll); err != nil {
			return err
		}
	}
	return nil
}

// Mend repairs the store of the embedded server as calls of this process do, for those of others, takes runs that others remove
// out of the copy of the log, and tells in time that the store will be full, until stop.
func (b *Bus) Mend() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	m := mending{bus: b}
	var under sync.WaitGroup
	under.Go(func() {
		for pause(ctx, b.closing, mendPoll) == nil {
			m.tellFill()
			if err := b.keeper.renew(ctx); err != nil {
				b.log.Debug().Err(err).Msg("it is not known whether a run was removed from the log")
			}
			if err := m.once(ctx); err != nil {
				b.log.Error().Err(err).Msg("the server cannot store anything any more: start it again")
				return
			}
		}
	})
	return func() { cancel(); under.Wait() }
}

// mending is what Mend has done so far: whether it told that there is no room, and its restarts one soon after the other.
type mending struct {
	bus    *Bus
	fill   filling
	full   bool
	starts int
	last   time.Time
}

// once inspects the store, and repairs it. A disk without room is waited for: a server that met it has a fault after it too. The
// error is why no more is done.
func (m *mending) once(ctx context.Context) error {
	b, starts := m.bus, m.bus.starts()
	fault := b.server.fault()
	if full := errors.Is(fault, ErrFull); full != m.full {
		m.full = full
		m.tell(fault)
	}
	switch {
	case m.full:
		return nil
	case fault == nil:
		if fault = b.server.outgrown(); fault == nil {
			return nil
		}
	}
	if time.Since(m.last) > mendCalm {
		m.starts = 0
	}
	if m.starts++; m.starts > maxRepairs {
		return fault
	}
	err := b.repair(ctx, starts, fault)
	m.last = time.Now()
	if errors.Is(err, ErrDamaged) || errors.Is(err, ErrClosed) {
		return err
	}
	return nil
}

// tellFill reports how full the store is, in time to do something about it.
func (m *mending) tellFill() {
	used, ceiling, ok := m.bus.Filled()
	if !ok {
		return
	}
	text, tell := m.fill.at(used, ceiling), m.bus.tell.Load()
	if text != "" && tell != nil {
		(*tell)(text)
	}
}

// tell reports that the disk has no room, or has some again.
func (m *mending) tell(fault error) {
	tell := m.bus.tell.Load()
	switch {
	case tell == nil:
	case m.full:
		(*tell)(strings.TrimPrefix(fault.Error(), ErrFull.Error()+": ") + "\nWrites wait until there is room")
	default:
		(*tell)("there is room again on the disk of " + m.bus.dir)
	}
}
