package bus

import (
	"fmt"

	"divisi/internal/machine"
)

// fillMarks are how full a store is, in percent, when a person is told, the highest first.
var fillMarks = []int64{95, 80}

// Filled returns how many bytes the store of the embedded server has, and how many it can have: what it may grow to, and what its
// disk has room for. ok is false where it is another's.
func (b *Bus) Filled() (used, ceiling int64, ok bool) {
	if b.server == nil {
		return 0, 0, false
	}
	now, err := b.server.srv.Load().Jsz(nil)
	if err != nil {
		return 0, 0, false
	}
	used, ceiling = int64(now.Store), now.Config.MaxStore
	if free, known := machine.Free(b.server.dir); known {
		ceiling = min(ceiling, used+max(free-diskReserve, free/2))
	}
	return used, ceiling, true
}

// filling is at which of the marks a store was told to be; 0 for none.
type filling struct{ told int64 }

// at is what a person is told now: once for each mark, and again after the store was below it.
func (f *filling) at(used, ceiling int64) (text string) {
	mark := int64(0)
	for _, m := range fillMarks {
		if ceiling > 0 && used*100 >= m*ceiling {
			mark = m
			break
		}
	}
	before := f.told
	if f.told = mark; mark <= before {
		return ""
	}
	return fmt.Sprintf("the store of the server has %d MiB, %d %% of the %d MiB that it can have. Remove runs that need not be "+
		"kept, or give its disk more room: when it is full, writes wait", used>>20, used*100/ceiling, ceiling>>20)
}
