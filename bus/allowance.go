package bus

import (
	"fmt"
	"strings"
	"sync"
	"time"
)

const (
	// shareOfStore is the part of the store that one worker may fill at once, one in so many, and again each hour.
	shareOfStore = 8
	leastShare   = 1 << 30
	// eventsBeyond is how many times its share a worker may have stored when its events are refused too: a worker whose objects
	// wait still reports its progress.
	eventsBeyond = 2
)

// storeShare is what one worker may fill of a store at once: an eighth, at least 1 GiB, at most half.
func storeShare(store int64) int64 { return min(max(store/shareOfStore, leastShare), store/2) }

// allowance is what one worker has stored of late: it is forgotten at a share an hour.
type allowance struct {
	mu    sync.Mutex
	level int64
	at    time.Time
	// told is when the worker was last refused.
	told time.Time
}

// put notes what is to be stored, and returns why it is not to be; first reports whether it was not so within the last hour.
func (a *allowance) put(subject string, size, share int64, now time.Time) (why string, first bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if past := now.Sub(a.at); !a.at.IsZero() {
		a.level = max(0, a.level-int64(past.Hours()*float64(share)))
	}
	a.at = now
	most := share
	if strings.HasPrefix(subject, prefixLog+".") {
		most = eventsBeyond * share
	}
	if a.level < most {
		a.level += size
		return "", false
	}
	first = now.Sub(a.told) > time.Hour
	a.told = now
	return fmt.Sprintf("it has stored %d MiB, as much as a worker may at once: it may store as much again in each hour",
		a.level>>20), first
}
