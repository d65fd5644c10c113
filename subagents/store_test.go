package subagents

import (
	"context"
	"errors"
	"iter"
	"sync"

	"divisi/bus"
)

// store is a log and an object store for tests. After failAfter appends, when that is not negative, every append fails.
type store struct {
	mu        sync.Mutex
	pos       uint64
	messages  []bus.Message
	objects   map[string][]byte
	failAfter int
}

var errDown = errors.New("the bus is down")

func newMemory() *store { return &store{objects: map[string][]byte{}, failAfter: -1} }

func (m *store) Append(_ context.Context, subject string, data []byte, last uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failAfter == 0 {
		return 0, errDown
	}
	newest := uint64(0)
	for _, msg := range m.messages {
		if msg.Subject == subject {
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
	m.messages = append(m.messages, bus.Message{Subject: subject, Pos: m.pos, Data: data})
	return m.pos, nil
}

func (m *store) Read(_ context.Context, subject string, from uint64) iter.Seq2[bus.Message, error] {
	m.mu.Lock()
	messages := m.messages[:len(m.messages):len(m.messages)]
	m.mu.Unlock()
	return func(yield func(bus.Message, error) bool) {
		for _, msg := range messages {
			if msg.Subject == subject && msg.Pos >= from && !yield(msg, nil) {
				return
			}
		}
	}
}

func (m *store) Put(_ context.Context, name string, data []byte) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.objects[name] = data
	return nil
}

func (m *store) Get(_ context.Context, name string) ([]byte, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	data, ok := m.objects[name]
	if !ok {
		return nil, bus.ErrNotFound
	}
	return data, nil
}

// setFailAfter lets n more appends through; negative lets all through.
func (m *store) setFailAfter(n int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.failAfter = n
}
