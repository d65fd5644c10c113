package bus

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// gapsSubject has, on a server, which positions are free for a reason.
const gapsSubject = prefixLease + ".gaps"

// gaps are positions that no message has and that are not lost. Where a file of the store is missing, or a sound one lacks
// positions, they tell whether that is damage.
type gaps struct {
	// Events and Objects are the newest positions of the two streams when a run was last removed: before them any may be free.
	Events  uint64 `json:"events,omitempty"`
	Objects uint64 `json:"objects,omitempty"`
	// Restored are the positions at which the log continued after each restore, the newest last.
	Restored []uint64 `json:"restored,omitempty"`
}

// free reports whether positions of a stream may have no message, from one to another, inclusive.
func (g *gaps) free(stream string, to uint64) bool {
	switch stream {
	case streamEvents:
		return to <= g.Events || slices.Contains(g.Restored, to+1)
	case streamObjects:
		return to <= g.Objects
	}
	return true
}

// gapsIn reads them from the store under a directory.
func gapsIn(dir string) (g gaps, err error) {
	m, err := streamIn(dir, streamLeases).GetLastMsgForSubject(context.Background(), gapsSubject)
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return g, nil
	}
	if err == nil {
		err = json.Unmarshal(m.Data, &g)
	}
	if err != nil {
		return g, fmt.Errorf("read which positions are free: %w", err)
	}
	return g, nil
}

// maxGapTries bounds how often the record is written again because another process has written it.
const maxGapTries = 5

// expectGaps notes, before messages are removed, that positions up to the newest ones may be free from now on.
func (b *Bus) expectGaps(ctx context.Context) error {
	if b.leases == nil {
		return nil // a member may remove nothing: the server says so
	}
	var err error
	for range maxGapTries {
		if err = b.noteGaps(ctx); !errors.Is(err, ErrFenced) {
			break
		}
	}
	if err != nil {
		return fmt.Errorf("note which positions will be free: %w", err)
	}
	return nil
}

func (b *Bus) noteGaps(ctx context.Context) error {
	var g gaps
	last := uint64(0)
	m, err := b.newest(ctx, b.leases, gapsSubject)
	if err == nil && m != nil {
		last, err = m.Sequence, json.Unmarshal(m.Data, &g)
	}
	if err != nil {
		return err
	}
	for stream, newest := range map[jetstream.Stream]*uint64{b.events: &g.Events, b.objects: &g.Objects} {
		info, err := stream.Info(ctx)
		if err != nil {
			return err
		}
		*newest = info.State.LastSeq
	}
	data, err := json.Marshal(g)
	if err != nil {
		return err
	}
	_, err = b.publish(ctx, b.leases, &nats.Msg{Subject: gapsSubject, Data: data}, gapsSubject, last)
	return err
}
