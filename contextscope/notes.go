package contextscope

import (
	"fmt"
	"slices"
	"strings"
)

// notef notes something on the event at a place.
func (p *pairing) notef(src int, format string, args ...any) {
	p.note(src, "event "+p.label(src)+": "+fmt.Sprintf(format, args...))
}

// note adds a note; a place below every event's is that of none of them.
func (p *pairing) note(about int, text string) {
	p.notes, p.about = append(p.notes, text), append(p.about, about)
}

// take adds the notes of another pairing.
func (p *pairing) take(o *pairing) {
	p.notes, p.about = append(p.notes, o.notes...), append(p.about, o.about...)
}

// split tells the notes on events before a place from the others.
func (p *pairing) split(src int) (before, after *pairing) {
	before, after = &pairing{}, &pairing{}
	for i, text := range p.notes {
		if p.about[i] < src {
			before.note(p.about[i], text)
		} else {
			after.note(p.about[i], text)
		}
	}
	return before, after
}

// minus takes away notes, each once.
func (p *pairing) minus(o *pairing) *pairing {
	less, out := map[string]int{}, &pairing{}
	for _, text := range o.notes {
		less[text]++
	}
	for i, text := range p.notes {
		if less[text]--; less[text] < 0 {
			out.note(p.about[i], text)
		}
	}
	return out
}

// sorted returns the notes in the order of the events, and of the alphabet on one event.
func (p *pairing) sorted() []string {
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
