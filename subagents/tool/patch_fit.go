package tool

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// fitting finds the places of hunks in a file. Line ends are the file's own: they are neither compared nor changed.
type fitting struct {
	// raw are the lines with their ends, bare those without.
	raw, bare []string
	numbers   []int
	end       string
	// fresh says that the file is being created: its lines are taken as they are.
	fresh bool
	// fate says of each line whether a hunk keeps or deletes it, before what stands before it then.
	fate   []byte
	before map[int][]patchLine
	// marked says that a hunk told which line has no end.
	marked bool
	notes  []string
}

func newFitting(data []byte, fresh bool) *fitting {
	f := &fitting{raw: strings.SplitAfter(string(data), "\n"), end: "\n", fresh: fresh, before: map[int][]patchLine{}}
	if f.raw[len(f.raw)-1] == "" {
		f.raw = f.raw[:len(f.raw)-1]
	}
	for i, line := range f.raw {
		f.bare = append(f.bare, bare(line))
		f.numbers = append(f.numbers, i)
	}
	if newLineEnds(data).most {
		f.end = "\r\n"
	}
	f.fate = make([]byte, len(f.raw))
	return f
}

// bare is a line without its end.
func bare(line string) string { return strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r") }

// fit places all hunks, or returns everything that is wrong with them.
func (f *fitting) fit(ctx context.Context, hunks []*hunk) (faults []string) {
	for _, h := range hunks {
		if ctx.Err() != nil {
			return []string{fmt.Sprintf("it was ended: %v", context.Cause(ctx))}
		}
		if len(faults) > maxPatchFaults { // the rest is only counted
			faults = append(faults, "")
			continue
		}
		at, fault := f.place(h)
		if fault == "" {
			fault = f.take(h, at)
		}
		if fault != "" {
			faults = append(faults, fmt.Sprintf("%s %s", h, fault))
		}
	}
	return faults
}

// place finds the line where a hunk begins: the stated one, else the only one where its lines stand.
func (f *fitting) place(h *hunk) (at int, fault string) {
	want := h.before()
	switch {
	case len(want) == 0 && len(f.raw) == 0:
		return 0, ""
	case len(want) == 0:
		return 0, "has no line of context, so that its place is not sure: give the lines around the new ones"
	case h.line > 0 && f.stands(h.line-1, want, h.openEnd()):
		return h.line - 1, ""
	}
	places := f.places(want)
	places = slices.DeleteFunc(places, func(at int) bool { return !f.stands(at, want, h.openEnd()) })
	switch {
	case len(places) > 1:
		var lines []string
		for _, p := range places[:min(len(places), 20)] {
			lines = append(lines, strconv.Itoa(p+1))
		}
		return 0, fmt.Sprintf("fits in %d places, at lines %s: give more lines of context",
			len(places), strings.Join(lines, ", "))
	case len(places) == 0:
		return 0, "does not fit: " + f.nearest(h, want)
	}
	if h.line > 0 {
		f.notes = append(f.notes, fmt.Sprintf("hunk %d fits at line %d, not %d", h.number, places[0]+1, h.line))
	}
	return places[0], ""
}

// places are the lines where a run of lines stands.
func (f *fitting) places(want []string) []int {
	_, places := linePlaces(f.bare, f.numbers, want, func(have, want string) bool { return have == want })
	return places
}

func (f *fitting) stands(at int, want []string, openEnd bool) bool {
	end := at + len(want)
	if at < 0 || end > len(f.bare) || openEnd && (end < len(f.raw) || strings.HasSuffix(f.raw[end-1], "\n")) {
		return false
	}
	return slices.Equal(f.bare[at:end], want)
}

// nearest shows the place that is most like the lines of a hunk.
func (f *fitting) nearest(h *hunk, want []string) string {
	if after := h.after(); len(after) > 1 {
		if places := f.places(after); len(places) > 0 {
			return fmt.Sprintf("what it would make stands at line %d already: leave it out if it was applied before", places[0]+1)
		}
	}
	at, like := mostAlike(f.bare, want)
	if !like {
		return "its lines are not in the file, and nothing there is like them: read the file and make the hunk anew"
	}
	return fmt.Sprintf("the nearest place is at line %d; copy the context from there exactly:\n%s",
		at+1, excerpt(f.bare, at-1, at+len(want)+1))
}

// take notes what a hunk does with the lines at its place. Hunks may share lines of context, but not change the same ones.
func (f *fitting) take(h *hunk, at int) (fault string) {
	i := at
	own := map[int]bool{}
	for _, l := range h.lines {
		f.marked = f.marked || l.open
		if l.op == '+' {
			if f.before[i] != nil && !own[i] {
				return fmt.Sprintf("changes the same place as another hunk, at line %d: make one hunk of them", i+1)
			}
			own[i] = true
			f.before[i] = append(f.before[i], l)
			continue
		}
		if f.fate[i] != 0 && (f.fate[i] == '-' || l.op == '-') {
			return fmt.Sprintf("overlaps with another hunk at line %d: make one hunk of them", i+1)
		}
		f.fate[i] = l.op
		i++
	}
	return ""
}

// result is the changed content.
func (f *fitting) result() []byte {
	var b strings.Builder
	ended, added := true, false
	write := func(line string, isNew bool) {
		if !ended {
			b.WriteString(f.end)
		}
		b.WriteString(line)
		ended, added = strings.HasSuffix(line, "\n"), isNew
	}
	last := len(f.raw) - 1
	open := last >= 0 && !strings.HasSuffix(f.raw[last], "\n")
	for i := range len(f.raw) + 1 {
		for _, l := range f.before[i] {
			text := l.text
			if !f.fresh {
				text = bare(text)
			}
			if !l.open {
				text += f.end
			}
			write(text, true)
		}
		if i <= last && f.fate[i] != '-' {
			write(f.raw[i], false)
		}
	}
	text := b.String()
	if open && added && !f.marked && f.fate[last] == '-' { // the new last line is as the old one was
		text = strings.TrimSuffix(text, f.end)
	}
	return []byte(text)
}

// where tells of hunks that were not where the patch says.
func (f *fitting) where() string {
	if len(f.notes) == 0 {
		return ""
	}
	return "; " + strings.Join(f.notes, "; ")
}
