package loopguard

import "fmt"

const (
	// maxPeriod is the longest cycle of calls that is looked for, repeats how often it must come.
	maxPeriod = 10
	repeats   = 5
	maxCalls  = maxPeriod * repeats
	// A call that comes often times among the newest within calls is a loop whatever the others are: more than every second one,
	// which the test behind each edit is.
	often  = 10
	within = 15
	// frequent is the period of such a call.
	frequent = -1
)

// The states of a call's result.
const (
	open    = iota // it may still come
	missing        // it never came
	known
)

// call is one call with its result.
type call struct {
	name         string
	what, result digest
	state        int
}

// same reports whether nothing tells two calls of a cycle apart. A result that is still to come says nothing.
func (c *call) same(d *call) bool {
	return c.what == d.what && (c.state == open || d.state == open || c.state == d.state && c.result == d.result)
}

// calls are the newest calls of an agent.
type calls struct {
	ring [maxCalls]call
	// made counts all calls, answered those whose results came or will never come, kept those that still count.
	made, answered, kept int
}

// at is the call that was made i calls before the newest.
func (c *calls) at(i int) *call { return &c.ring[(c.made-1-i)%maxCalls] }

// clear forgets the calls. Results of theirs that come later are still theirs.
func (c *calls) clear() { c.kept = 0 }

// add takes a call and returns the shortest period at which it completes a loop, or 0.
func (c *calls) add(name string, what digest) int {
	c.made++
	c.kept = min(c.kept+1, maxCalls)
	*c.at(0) = call{name: shown(name, maxShown), what: what}
	for period := 1; period <= maxPeriod && period*repeats <= c.kept; period++ {
		if c.cycles(period) {
			return period
		}
	}
	if c.frequent() {
		return frequent
	}
	return 0
}

// frequent reports whether the newest call came often lately, each time with the same result.
func (c *calls) frequent() bool {
	n := 1
	var last *call
	for i := 1; i < min(c.kept, within); i++ {
		d := c.at(i)
		switch {
		case d.what != c.at(0).what:
			continue
		case last != nil && !last.same(d):
			return false // it brought something new
		case last == nil && d.state != open:
			last = d
		}
		n++
	}
	return n >= often
}

func (c *calls) cycles(period int) bool {
	for i := range period * (repeats - 1) {
		if !c.at(i).same(c.at(i + period)) {
			return false
		}
	}
	return true
}

// answer takes the result of the oldest call that has none. One that no call waits for is dropped.
func (c *calls) answer(result digest) {
	if c.answered == c.made {
		return
	}
	if i := c.made - 1 - c.answered; i < c.kept {
		d := c.at(i)
		d.result, d.state = result, known
	}
	c.answered++
}

// settle ends the wait for results.
func (c *calls) settle() {
	for i := range min(c.made-c.answered, c.kept) {
		c.at(i).state = missing
	}
	c.answered = c.made
}

// loop names the loop of a period that the newest call completes.
func (c *calls) loop(period int, args string) string {
	if period == frequent {
		return fmt.Sprintf("%s %s: %d times among the newest %d calls, each with the same result", c.at(0).name, args,
			often, within)
	}
	names := make([]string, 0, period)
	answered := false
	for i := period - 1; i >= 0; i-- {
		names = append(names, c.at(i).name)
		answered = answered || c.at(i+period).state == known
	}
	return loops(names, args, answered)
}
