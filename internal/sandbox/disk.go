package sandbox

import (
	"fmt"
	"sync"
	"time"
)

// diskPause is how often the free space of the disks is read that a command writes to.
const diskPause = time.Second

// Disk counts the bytes that the commands of one attempt have written to disks, and bounds them. It is measured only when the
// disks have lost so much free space that the bound can be near: that is cheap to know, and a disk loses what a command writes
// there.
type Disk struct {
	most int64
	// since is when the attempt began: what has not changed since then its commands have not written.
	since time.Time

	mu sync.Mutex
	// known is their last measured use, plus the free space lost since then to any process of the machine.
	known, lost int64
}

// NewDisk bounds, in bytes, what the commands write from now on that have the same Disk in their Place; 0 bounds nothing.
func NewDisk(most int64) *Disk {
	if most <= 0 {
		return nil
	}
	// The kernel's clock for files is behind by the time between two of its ticks.
	return &Disk{most: most, since: time.Now().Add(-time.Second)}
}

// look adds the free space that the disks have lost, and reports whether to measure. lost is what went since they were measured.
func (d *Disk) look(more int64) (lost int64, measure bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost += more
	return d.lost, d.lost > max((d.most-d.known)/2, d.most/64)
}

// take keeps what was measured when the disks had lost so much. Where not all could be read, what they lost may lie there.
func (d *Disk) take(size, lost int64, whole bool) *Excess {
	d.mu.Lock()
	defer d.mu.Unlock()
	if !whole {
		size = max(size, d.known+lost)
	}
	d.known, d.lost = size, max(0, d.lost-lost)
	if size <= d.most {
		return nil
	}
	return &Excess{Wrote: size, Most: d.most}
}

// Excess is the least number of bytes that the commands of an attempt wrote beyond Most.
type Excess struct{ Wrote, Most int64 }

// String names both, and where the bound comes from.
func (e *Excess) String() string {
	return fmt.Sprintf("the commands of the attempt have written %d MiB to the disk, "+
		"and may write %d MiB (limits.disk_mib in worker.yaml)", (e.Wrote+1<<20-1)>>20, e.Most>>20)
}
