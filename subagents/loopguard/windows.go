package loopguard

import (
	"fmt"
	"slices"
	"strings"
)

// The rule for texts, which Gemini CLI found to work: content loops of its loopDetectionService.
const (
	windowSize  = 50
	windowTimes = 10
	maxMean     = 250
	maxGaps     = 5
	// reach is how far back, in characters, a window can lie that still counts.
	reach = maxMean * (windowTimes - 1)
	// kept is how many characters are kept: a power of two above reach and a window.
	kept = 4096
)

// The hash of a text is a polynomial in hashBase; powers are its powers.
const hashBase = 0x9e3779b97f4a7c15

var powers = func() (p [reach + 1]uint64) {
	p[0] = 1
	for i := range reach {
		p[i+1] = p[i] * hashBase
	}
	return p
}()

// windows finds windows that repeat in the characters that it is given. Its memory is made with the first one.
type windows struct {
	*windowMemory
	// n is the place of the next character. Places count for ever and wrap around; all that is asked of them is how far they
	// are apart.
	n uint32
	// filled counts the characters since the last clear, up to the window.
	filled uint32
}

// windowMemory indexes the newest characters by their place modulo kept.
type windowMemory struct {
	text [kept]uint32
	// sums are the hashes of everything up to a character, from which that of any piece follows.
	sums [kept]uint64
	// heads is the place of the newest window of a hash's bucket; older and equal report how many characters before a window the
	// next one of its bucket ended, and the next equal one. 0 is none.
	heads        [kept]uint32
	older, equal [kept]uint16
}

func (w *windows) clear() { w.filled = 0 }

func (w windows) clone() windows {
	if w.windowMemory != nil {
		m := *w.windowMemory
		w.windowMemory = &m
	}
	return w
}

// add takes a character and reports whether the window that it ends is the tenth of a loop.
func (w *windows) add(c uint32) bool {
	if w.windowMemory == nil {
		w.windowMemory = new(windowMemory)
	}
	last, i := w.n, w.n%kept
	w.n++
	w.text[i] = c
	w.sums[i] = w.sums[(last-1)%kept]*hashBase + uint64(c) + 1
	w.filled = min(w.filled+1, reach+windowSize)
	if w.filled < windowSize {
		return false
	}
	w.index(last)
	return w.equal[i] != 0 && w.loops(last)
}

// index links the window that ends at a place with those before it.
func (w *windows) index(last uint32) {
	hash := w.hash(last, windowSize)
	far := w.filled - windowSize
	head := &w.heads[hash*hashBase>>52] // the upper 12 bits: as many buckets as kept
	i := last % kept
	w.older[i], w.equal[i] = 0, 0
	back := last - *head
	*head = last
	if back > far {
		return
	}
	w.older[i] = uint16(back)
	for back <= far {
		j := (last - back) % kept
		if w.text[j] == w.text[i] && w.hash(last-back, windowSize) == hash && w.sameWindow(last, back) {
			w.equal[i] = uint16(back)
			return
		}
		step := uint32(w.older[j])
		if step == 0 {
			return
		}
		back += step
	}
}

// hash is that of the n characters that end at a place.
func (w *windows) hash(last, n uint32) uint64 {
	return w.sums[last%kept] - w.sums[(last-n)%kept]*powers[n]
}

// sameWindow compares the window that ends at a place with the one that ended back characters earlier. Where those one
// before are known to be equal, a single character is left.
func (w *windows) sameWindow(last, back uint32) bool {
	if w.filled > windowSize && uint32(w.equal[(last-1)%kept]) == back {
		return w.text[last%kept] == w.text[(last-back)%kept]
	}
	return w.same(last, last-back, windowSize)
}

func (w *windows) same(a, b, n uint32) bool {
	for i := range n {
		if w.text[(a-i)%kept] != w.text[(b-i)%kept] {
			return false
		}
	}
	return true
}

// gap is the text from the end of one window to the end of the next equal one.
type gap struct {
	last, n uint32
	hash    uint64
}

// gaps returns those before the newest windowTimes equal windows, if that many are near enough.
func (w *windows) gaps(last uint32) (gaps [windowTimes - 1]gap, ok bool) {
	total := uint32(0)
	for i := range gaps {
		n := uint32(w.equal[last%kept])
		if total += n; n == 0 || total > min(reach, w.filled-windowSize) {
			return gaps, false
		}
		gaps[i] = gap{last: last, n: n, hash: w.hash(last, n)}
		last -= n
	}
	return gaps, true
}

// loops reports whether the newest window is one of a loop. Hashes tell what differs; what they take for equal is compared.
func (w *windows) loops(last uint32) bool {
	gaps, ok := w.gaps(last)
	if !ok {
		return false
	}
	var first [windowTimes - 1]int
	distinct := 0
	for i, g := range gaps {
		first[i] = slices.IndexFunc(gaps[:i+1], func(d gap) bool { return d.n == g.n && d.hash == g.hash })
		if first[i] == i {
			distinct++
		}
	}
	if distinct > maxGaps {
		return false
	}
	for i, g := range gaps {
		if !w.same(gaps[first[i]].last, g.last, g.n) {
			return false
		}
	}
	return true
}

// repetition names the loop that the newest character completed.
func (w *windows) repetition() string {
	var b strings.Builder
	for i := range uint32(windowSize) {
		if c := w.text[(w.n-windowSize+i)%kept]; c&marked == 0 {
			b.WriteRune(rune(c))
		}
	}
	total := uint32(0)
	at := w.n - 1
	for range windowTimes - 1 {
		n := uint32(w.equal[at%kept])
		total += n
		at -= n
	}
	return fmt.Sprintf("%q %d times, every %d characters", shown(b.String(), windowSize), windowTimes, total/(windowTimes-1))
}
