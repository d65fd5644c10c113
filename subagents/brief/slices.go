package brief

import (
	"context"
	"fmt"
	"sync"

	"divisi/contextscope/slice"
	"divisi/subagents/journal"
)

// keptSlices is how many decoded slices a worker keeps: siblings of one dispatch share theirs, and few dispatches are at work
// at once.
const keptSlices = 4

// Slices decodes slices once for all who inherit them: they are immutable, and the compiler narrates a slice once as long as
// it is the same one. It is safe for concurrent use.
type Slices struct {
	mu    sync.Mutex
	names []string
	kept  map[string]slice.Slice
}

// get returns the slice of a name in the object store.
func (s *Slices) get(ctx context.Context, objects journal.Objects, name string) (slice.Slice, error) {
	s.mu.Lock()
	have, ok := s.kept[name]
	s.mu.Unlock()
	if ok {
		return have, nil
	}
	data, err := objects.Get(ctx, name)
	if err != nil {
		return slice.Slice{}, fmt.Errorf("get %s: %w", name, err)
	}
	decoded, err := slice.Decode(data)
	if err != nil {
		return slice.Slice{}, fmt.Errorf("read %s: %w", name, err)
	}
	return s.keep(name, decoded), nil
}

// keep returns the slice that all are given: of two that were decoded at once, the first.
func (s *Slices) keep(name string, fresh slice.Slice) slice.Slice {
	s.mu.Lock()
	defer s.mu.Unlock()
	if have, ok := s.kept[name]; ok {
		return have
	}
	if len(s.names) == keptSlices {
		delete(s.kept, s.names[0])
		s.names = s.names[1:]
	}
	if s.kept == nil {
		s.kept = map[string]slice.Slice{}
	}
	s.names, s.kept[name] = append(s.names, name), fresh
	return fresh
}
