package bus

import (
	"cmp"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"
)

// crowd is who is connected, by address or by member: a party has at most each connections, all have most. It may be shared.
type crowd struct {
	each, most int
	oldest     bool // the oldest connection goes first; else the newest

	mu    sync.Mutex
	by    map[string][]*guest // of a party, in the order in which they came
	count int
	came  uint64
}

// guest is one connection of a party.
type guest struct {
	party string
	cut   func()
	came  uint64
}

// enter counts a connection in. gone is the one that has to go for it, which may be itself; nil for none.
func (c *crowd) enter(g *guest) (gone *guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.by == nil {
		c.by = map[string][]*guest{}
	}
	c.came++
	g.came = c.came
	c.by[g.party] = append(c.by[g.party], g)
	c.count++
	switch {
	case len(c.by[g.party]) > c.each:
		gone = c.first(g.party)
	case c.count > c.most:
		gone = c.first(slices.MaxFunc(slices.Collect(maps.Keys(c.by)), func(a, b string) int {
			return cmp.Or(len(c.by[a])-len(c.by[b]), cmp.Compare(c.by[b][0].came, c.by[a][0].came))
		}))
	}
	if gone != nil {
		c.remove(gone)
	}
	return gone
}

// first is the connection of a party that goes first.
func (c *crowd) first(party string) *guest {
	if all := c.by[party]; !c.oldest {
		return all[len(all)-1]
	}
	return c.by[party][0]
}

// leave counts a connection out, which may have gone already.
func (c *crowd) leave(g *guest) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(g)
}

func (c *crowd) remove(g *guest) {
	all := c.by[g.party]
	at := slices.Index(all, g)
	switch {
	case at < 0:
		return
	case len(all) == 1:
		delete(c.by, g.party)
	default:
		c.by[g.party] = slices.Delete(all, at, at+1)
	}
	c.count--
}

// addressOf is what a connection counts as before its login: an address, of IPv6 the network that one machine can have whole.
func addressOf(from net.Addr) string {
	at, err := netip.ParseAddrPort(from.String())
	if err != nil {
		return from.String()
	}
	ip := at.Addr().Unmap()
	if network, err := ip.Prefix(64); err == nil && ip.Is6() {
		return network.String()
	}
	return ip.String()
}

// tallyEvery is how often a tally tells.
const tallyEvery = time.Minute

// tally reports what others can cause as often as they want: the first time at once, then once a minute how often it was.
type tally struct {
	tell func(times int, last string)

	mu     sync.Mutex
	times  int
	last   string
	timer  *time.Timer // nil where nothing was told within the last minute
	closed bool
}

// add counts one more.
func (t *tally) add(what string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.times++
	t.last = what
	if t.timer == nil && !t.closed {
		t.flush()
		t.timer = time.AfterFunc(tallyEvery, t.minute)
	}
}

func (t *tally) minute() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.times == 0 || t.closed {
		t.timer = nil
		return
	}
	t.flush()
	t.timer.Reset(tallyEvery)
}

func (t *tally) flush() {
	if t.times > 0 {
		t.tell(t.times, t.last)
	}
	t.times = 0
}

// close reports the rest.
func (t *tally) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	if t.timer != nil {
		t.timer.Stop()
	}
	t.flush()
}
