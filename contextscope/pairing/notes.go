package pairing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// note is what was healed in the event at a place.
type note struct {
	about int
	text  string
}

// Notef notes something on the event at a place.
func (p *Pairing) Notef(src int, format string, args ...any) {
	p.Note(src, "event "+p.Label(src)+": "+fmt.Sprintf(format, args...))
}

// Note adds a note; a place below every event's is that of none of them.
func (p *Pairing) Note(about int, text string) { p.notes = append(p.notes, note{about, text}) }

// Sorted returns the notes in the order of the events, and of the alphabet on one event.
func (p *Pairing) Sorted() []string {
	notes := slices.SortedFunc(slices.Values(p.notes), func(a, b note) int {
		return cmp.Or(cmp.Compare(a.about, b.about), strings.Compare(a.text, b.text))
	})
	out := make([]string, len(notes))
	for i, n := range notes {
		out[i] = n.text
	}
	return out
}
