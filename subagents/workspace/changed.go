package workspace

import (
	"context"
	"fmt"
)

// Changed lists what differs in the work tree from the commit of the last reset, ignored files left out. It stores nothing,
// however large the files are. Errors: *ContentError, ErrNotReset.
func (s *Slot) Changed(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.repo == nil {
		return nil, ErrNotReset
	}
	dirs := s.touched()
	if err := s.dropPipes(ctx, dirs); err != nil {
		return nil, err
	}
	look := func(args ...string) ([]byte, error) { return s.look(ctx, "", args...) }
	records, err := s.list(ctx, look, dirs, "--exclude-standard")
	if err == nil {
		err = s.checkSubmodules(ctx)
	}
	if err != nil {
		return nil, fmt.Errorf("list the changes in %s: %w", s.name, err)
	}
	return pathsOf(records), nil
}
