package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/google/renameio/v2/maybe"

	"divisi/bus"
	"divisi/internal/usage"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/store"
)

// LeaseName names the lease of the host that conducts what is submitted on a server.
const LeaseName = "host"

const (
	// keepPause is between two renewals of the lease.
	keepPause = 3 * time.Second
	// againPause is before a host that does not conduct any more waits for the lease again.
	againPause = 5 * time.Second
	// bringPause is before a host that stands by tries again to bring what it could not.
	bringPause = 30 * time.Second
	// releaseTime bounds how long a host that stops tries to give its lease up.
	releaseTime = 5 * time.Second
	// hostDir is, in a state directory, what a host has of its own.
	hostDir = "host"
)

// Known is a run of a host as the next one learns of it from the note of the lease. Fetched is the commit that a person has
// published.
type Known struct {
	Run     string `json:"run"`
	Order   string `json:"order"`
	Ended   bool   `json:"ended,omitempty"`
	Fetched string `json:"fetched,omitempty"`
}

// class is 0 for a run that has not ended, 1 for one that no person has published, 2 for the others.
func (k Known) class() int {
	switch {
	case !k.Ended:
		return 0
	case k.Fetched == "":
		return 1
	}
	return 2
}

// identify locks a state directory for a host, and returns the host's id, which is made where there is none.
func identify(stateDir string) (id string, free func() error, err error) {
	dir := filepath.Join(stateDir, hostDir)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, fmt.Errorf("make the directory of the host: %w", err)
	}
	free, err = bus.Lock(dir)
	if errors.As(err, new(*bus.LockedError)) {
		err = usage.Errorf("a host of %s runs already: stop it, or give this one another directory", stateDir)
	}
	if err != nil {
		return "", nil, err
	}
	path := filepath.Join(dir, "id")
	data, err := os.ReadFile(path)
	if id = string(data); errors.Is(err, os.ErrNotExist) || err == nil && id == "" {
		id = depot.NewID()
		err = maybe.WriteFile(path, []byte(id), 0o600)
	}
	if err != nil {
		return "", nil, errors.Join(fmt.Errorf("read the id of the host from %s: %w", path, err), free())
	}
	return id, free, nil
}

// serve waits for the lease and conducts while it lasts, again and again, until ctx ends. begun gets one value: nil when the host
// conducts or stands by, or why it cannot.
func (h *Host) serve(ctx context.Context, begun chan<- error) {
	var once sync.Once
	tell := func(err error) { once.Do(func() { begun <- err }) }
	for {
		err := h.term(ctx, tell)
		if ctx.Err() != nil {
			tell(context.Cause(ctx))
			return
		}
		if errors.Is(err, bus.ErrTwin) {
			err = fmt.Errorf("another host has the identity of this one, as a copy of %s has, and conducts now: stop one "+
				"of them. To keep both, remove %s here and start again: %w",
				h.o.StateDir, filepath.Join(h.o.StateDir, hostDir, "id"), err)
			tell(err)
			h.failed <- err
			return
		}
		tell(err)
		h.o.Notice("", fmt.Sprintf("the host does not conduct any more: %v", err))
		select {
		case <-time.After(againPause):
		case <-ctx.Done():
		}
	}
}

// term is one time of holding the lease.
func (h *Host) term(ctx context.Context, begun func(error)) error {
	s := standby{host: h}
	following, stop := context.WithCancel(ctx)
	note, err := h.lease.Take(ctx, func(note []byte) {
		s.follow(following, note)
		begun(nil)
	})
	stop()
	s.done.Wait()
	if err != nil {
		return err
	}
	if s.has != nil { // it stood by
		h.o.Notice("", "the other host is gone: this one conducts the runs of "+h.bus.URL())
	}
	for _, k := range readNotes(note) {
		h.note(k)
	}
	life, end := context.WithCancelCause(ctx)
	defer end(nil)
	var kept sync.WaitGroup
	kept.Go(func() { h.keep(life, end) })
	if err := h.conduct(life, note); err != nil {
		end(err)
		kept.Wait()
		return errors.Join(err, h.release(ctx))
	}
	begun(nil)
	kept.Wait()
	cause := context.Cause(life)
	h.deaf()
	h.deaf = nil
	h.under.Wait()
	if ctx.Err() != nil {
		return h.release(ctx)
	}
	return cause
}

// conduct continues with what the host before did, and listens.
func (h *Host) conduct(ctx context.Context, note []byte) error {
	for _, k := range readNotes(note) {
		if err := h.know(k); err != nil {
			h.o.Notice(k.Run, fmt.Sprintf("the run of the host before cannot be taken over: %v", err))
		}
	}
	open, err := h.unfinished(ctx)
	if err != nil {
		return err
	}
	places := make([]*hosted, len(open))
	for i, id := range open {
		places[i], _ = h.place(id)
	}
	if h.deaf, err = h.listen(ctx, h.answerer().Answer); err != nil {
		return err
	}
	for _, mine := range places {
		h.under.Go(func() { h.keepRunning(ctx, mine) })
	}
	return nil
}

// keep renews the lease until ctx ends, or end ends it because the lease is lost.
func (h *Host) keep(ctx context.Context, end context.CancelCauseFunc) {
	tick, tidy := time.NewTicker(cmp.Or(h.o.leaseTime/5, keepPause)), time.NewTicker(tidyPause)
	defer tick.Stop()
	defer tidy.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-tidy.C:
			h.under.Go(func() { h.tidy(ctx, depot.Now()) })
		case <-tick.C:
			h.disown()
			err := h.lease.Keep(ctx, h.notes)
			if lost := h.lease.Held(); lost != nil && ctx.Err() == nil {
				end(errors.Join(lost, err))
			} else if err != nil {
				h.Dir.Log.Warn().Err(err).Msg("the lease was not renewed")
			}
		}
	}
}

func (h *Host) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTime)
	defer cancel()
	return h.lease.Release(ctx, h.notes)
}

func (h *Host) note(k Known) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.noted[k.Run] = k
}

func (h *Host) unnote(id string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.noted, id)
}

// maxNoted bounds the runs that a host tells the next one of: first those that have not ended, then those that no person has
// published, the newest first.
const maxNoted = 1000

// notes is the note of the lease.
func (h *Host) notes() any {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := slices.SortedFunc(maps.Values(h.noted), func(a, b Known) int {
		return cmp.Or(cmp.Compare(a.class(), b.class()), cmp.Compare(b.Run, a.Run))
	})
	return all[:min(len(all), maxNoted)]
}

// readNotes reads the note of another host. What is no run is left out.
func readNotes(note []byte) (all []Known) {
	if json.Unmarshal(note, &all) != nil {
		return nil
	}
	return slices.DeleteFunc(all, func(k Known) bool { return !bus.ValidToken(k.Run) || k.Order == "" })
}

// standby is a host that waits for the lease of another one. It brings to this machine what cannot be had any more when the other
// one is gone: the base commits of its runs, and the branches of those that have ended.
type standby struct {
	host *Host
	done sync.WaitGroup
	mu   sync.Mutex
	busy bool
	has  map[Known]bool
	due  map[Known]time.Time // not before it what failed is tried again
}

// follow begins to bring what is new in a note, unless that is being done already.
func (s *standby) follow(ctx context.Context, note []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy {
		return
	}
	if s.has == nil {
		s.has, s.due = map[Known]bool{}, map[Known]time.Time{}
		s.host.o.Notice("", "another host conducts the runs of "+s.host.bus.URL()+": this one takes them over when it is gone")
	}
	var lacks []Known
	for _, k := range readNotes(note) {
		if !s.has[k] && !depot.Now().Before(s.due[k]) {
			lacks = append(lacks, k)
		}
	}
	s.busy = true
	s.done.Go(func() {
		for _, k := range lacks {
			if ctx.Err() != nil {
				return
			}
			err := s.host.bring(ctx, k)
			if err != nil && ctx.Err() == nil {
				s.host.Dir.Log.Warn().Err(err).Str("run", k.Run).Msg("the run's commits are not here yet")
			}
			s.mu.Lock()
			s.has[k], s.due[k] = err == nil, depot.Now().Add(bringPause)
			s.mu.Unlock()
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		s.busy = false
	})
}

// know describes a run of another host here.
func (h *Host) know(k Known) error {
	if _, err := h.describe(k.Run, k.Order); err != nil || k.Fetched == "" {
		return err
	}
	m, err := store.ReadMeta(h.Dir.Run(k.Run))
	if err != nil || m.Fetched == k.Fetched {
		return err
	}
	m.Fetched = k.Fetched
	return m.Write(h.Dir.Run(k.Run))
}

// bring describes a run of another host here, and brings its commits.
func (h *Host) bring(ctx context.Context, k Known) error {
	if err := h.know(k); err != nil || k.Ended && k.Fetched != "" {
		return err
	}
	return call.Guarded("stand by for run "+k.Run, func() error {
		o := &conduct.ResumeOptions{Run: k.Run, Machine: conduct.Machine{StateDir: h.o.StateDir, Elsewhere: true}}
		return conduct.Stand(ctx, o, &client.Host{Bus: h.bus}, k.Ended)
	})
}
