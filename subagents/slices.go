package subagents

import (
	"context"
	"fmt"
	"sync"

	"divisi/contextscope"
)

// keptSlices is how many decoded slices a worker keeps: siblings of one dispatch share theirs, and few dispatches are at work
// at once.
const keptSlices = 4

// sliceShelf decodes slices once for all who inherit them: they are immutable, and the compiler narrates a slice once as long as
// it is the same one. It is safe for concurrent use; a nil shelf keeps nothing.
type sliceShelf struct {
	mu    sync.Mutex
	names []string
	kept  map[string]contextscope.Slice
}

// get returns the slice of a name in the object store.
func (s *sliceShelf) get(ctx context.Context, objects Objects, name string) (contextscope.Slice, error) {
	if s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if have, ok := s.kept[name]; ok {
			return have, nil
		}
	}
	data, err := objects.Get(ctx, name)
	if err != nil {
		return contextscope.Slice{}, fmt.Errorf("get %s: %w", name, err)
	}
	slice, err := contextscope.DecodeSlice(data)
	if err != nil {
		return contextscope.Slice{}, fmt.Errorf("read %s: %w", name, err)
	}
	s.keep(name, slice)
	return slice, nil
}

func (s *sliceShelf) keep(name string, slice contextscope.Slice) {
	if s == nil {
		return
	}
	if len(s.names) == keptSlices {
		delete(s.kept, s.names[0])
		s.names = s.names[1:]
	}
	if s.kept == nil {
		s.kept = map[string]contextscope.Slice{}
	}
	s.names, s.kept[name] = append(s.names, name), slice
}
