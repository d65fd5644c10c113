package gate

import (
	"hash/fnv"
	"strings"
)

// maxPlaces bounds how many places are told apart.
const maxPlaces = 1 << 17

// counted counts the places of signatures. A place that is printed twice, as in a summary, counts once; a failed test has a name
// and counts once too.
type counted struct {
	places map[uint64]struct{}
	counts map[string]int
}

func newCounted() counted { return counted{map[uint64]struct{}{}, map[string]int{}} }

// add counts a place; "" is none. It reports whether there is room for another one.
func (c *counted) add(signature, place string) bool {
	for _, kind := range uncounted {
		if strings.HasPrefix(signature, kind) {
			return true
		}
	}
	if place == "" {
		return true
	}
	h := fnv.New64a()
	_, _ = h.Write([]byte(signature + "\x00" + place)) // it never fails
	if _, known := c.places[h.Sum64()]; known {
		return true
	}
	if len(c.places) >= maxPlaces {
		return false
	}
	c.places[h.Sum64()] = struct{}{}
	c.counts[signature]++
	return true
}

// uncounted are the beginnings of signatures with a name.
var uncounted = []string{"test: ", "package: ", "suite: ", "load: ", "gate: ", "bail out: ", "plan: ", "FAIL "}

// several are the counts above one; nil for none.
func (c *counted) several() map[string]int {
	var out map[string]int
	for signature, n := range c.counts {
		if n > 1 {
			if out == nil {
				out = map[string]int{}
			}
			out[signature] = n
		}
	}
	return out
}
