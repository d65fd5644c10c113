package orchestrator

import (
	"slices"
)

// closers release what was taken, the newest first.
type closers []func()

func (c *closers) later(f func()) { *c = append(*c, f) }

func (c *closers) release() {
	for _, f := range slices.Backward(*c) {
		f()
	}
	*c = nil
}
