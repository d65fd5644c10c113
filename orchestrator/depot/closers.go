package depot

import "slices"

// Closers release what was taken, the newest first.
type Closers []func()

// Later has Release call f.
func (c *Closers) Later(f func()) { *c = append(*c, f) }

// Release calls what it was handed, the last first, and forgets it.
func (c *Closers) Release() {
	for _, f := range slices.Backward(*c) {
		f()
	}
	*c = nil
}
