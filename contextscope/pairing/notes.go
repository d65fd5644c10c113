package pairing

import (
	"fmt"
	"slices"
	"strings"
)

// Notef notes something on the event at a place.
func (p *Pairing) Notef(src int, format string, args ...any) {
	p.Note(src, "event "+p.Label(src)+": "+fmt.Sprintf(format, args...))
}

// Note adds a note; a place below every event's is that of none of them.
func (p *Pairing) Note(about int, text string) {
	p.notes, p.about = append(p.notes, text), append(p.about, about)
}

// Take adds the notes of another pairing.
func (p *Pairing) Take(o *Pairing) {
	p.notes, p.about = append(p.notes, o.notes...), append(p.about, o.about...)
}

// Split tells the notes on events before a place from the others.
func (p *Pairing) Split(src int) (before, after *Pairing) {
	before, after = &Pairing{}, &Pairing{}
	for i, text := range p.notes {
		if p.about[i] < src {
			before.Note(p.about[i], text)
		} else {
			after.Note(p.about[i], text)
		}
	}
	return before, after
}

// Minus takes away notes, each once.
func (p *Pairing) Minus(o *Pairing) *Pairing {
	less, out := map[string]int{}, &Pairing{}
	for _, text := range o.notes {
		less[text]++
	}
	for i, text := range p.notes {
		if less[text]--; less[text] < 0 {
			out.Note(p.about[i], text)
		}
	}
	return out
}

// Sorted returns the notes in the order of the events, and of the alphabet on one event.
func (p *Pairing) Sorted() []string {
	at := make([]int, len(p.notes))
	for i := range at {
		at[i] = i
	}
	slices.SortFunc(at, func(a, b int) int {
		if p.about[a] != p.about[b] {
			return p.about[a] - p.about[b]
		}
		return strings.Compare(p.notes[a], p.notes[b])
	})
	out := make([]string, len(at))
	for i, n := range at {
		out[i] = p.notes[n]
	}
	return out
}
