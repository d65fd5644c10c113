// Package journaltest keeps a log and objects in memory. Its input and output are those of a journal's place on the bus. It
// never writes to a disk.
package journaltest

import (
	"context"
	"errors"
	"iter"
	"path"
	"strings"
	"sync"

	"divisi/bus"
)

// Memory is a journal.Log and journal.Objects in memory. After failAfter appends, when that is not negative, every append fails.
type Memory struct {
	mu        sync.Mutex
	pos       uint64
	Messages  []bus.Message
	Blobs     map[string][]byte
	failAfter int
}

// ErrDown is the error of an append after those that SetFailAfter lets through.
var ErrDown = errors.New("the bus is down")

// New returns an empty store.
func New() *Memory { return &Memory{Blobs: map[string][]byte{}, failAfter: -1} }

// AppendFiltered implements journal.Log.
func (m *Memory) AppendFiltered(_ context.Context, subject, filter string, data []byte, last uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAfter == 0 {
		return 0, ErrDown
	}
	newest := uint64(0)
	for _, msg := range m.Messages {
		if matches(filter, msg.Subject) {
			newest = msg.Pos
		}
	}
	if newest != last {
		return 0, bus.ErrFenced
	}
	if len(data) > bus.MaxData {
		return 0, bus.ErrTooLarge
	}
	if m.failAfter > 0 {
		m.failAfter--
	}
	m.pos++
	m.Messages = append(m.Messages, bus.Message{Subject: subject, Pos: m.pos, Data: data})
	return m.pos, nil
}

// Read implements journal.Log.
func (m *Memory) Read(_ context.Context, filter string, from uint64) iter.Seq2[bus.Message, error] {
	m.mu.Lock()
	messages := m.Messages[:len(m.Messages):len(m.Messages)]
	m.mu.Unlock()
	return func(yield func(bus.Message, error) bool) {
		for _, msg := range messages {
			if matches(filter, msg.Subject) && msg.Pos >= from && !yield(msg, nil) {
				return
			}
		}
	}
}

// matches reports whether a filter, whose * stand for one token each, matches a subject.
func matches(filter, subject string) bool {
	ok, err := path.Match(strings.ReplaceAll(filter, ".", "/"), strings.ReplaceAll(subject, ".", "/"))
	return ok && err == nil
}

// Put implements journal.Objects.
func (m *Memory) Put(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Blobs[name] = data
	return nil
}

// Get implements journal.Objects.
func (m *Memory) Get(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.Blobs[name]
	if !ok {
		return nil, bus.ErrNotFound
	}
	return data, nil
}

// SetFailAfter lets n more appends through; negative lets all through.
func (m *Memory) SetFailAfter(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failAfter = n
}
