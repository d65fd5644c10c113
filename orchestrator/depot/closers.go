package depot

import (
	"slices"
)

// Closers release what was taken, the newest first.
type Closers []func()

func (c *Closers) Later(f func()) { *c = append(*c, f) }

func (c *Closers) Release() {
	for _, f := range slices.Backward(*c) {
		f()
	}
	*c = nil
}
