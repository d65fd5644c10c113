package replace

import (
	"errors"
	"fmt"
	"strings"

	"divisi/internal/text"
	"divisi/internal/textfile"
)

// span is one place of the old text: what to replace and by what.
type span = textfile.Change

// find locates the old text in a content whose lines end with \n. It matches exactly, else without regard to spaces at line
// ends, else without regard to indentation; each only where there is one place. how names what was disregarded. The error
// says where the text stands several times, or which place is the nearest.
func find(content, old, replacement string, all bool) (spans []span, how string, err error) {
	at := occurrences(content, old, all)
	if len(at) > 1 && !all {
		return nil, "", ambiguous(content, at)
	}
	for _, start := range at {
		spans = append(spans, span{Start: start, End: start + len(old), Text: replacement})
	}
	if len(at) > 0 {
		return spans, "", nil
	}
	if all {
		return nil, "", missing(content, old)
	}
	for _, try := range []struct {
		how  string
		same func(have, want string) bool
	}{
		{"spaces at line ends were disregarded", func(have, want string) bool { return trimEnd(have) == trimEnd(want) }},
		{"indentation was disregarded", func(have, want string) bool {
			return strings.TrimSpace(have) == strings.TrimSpace(want)
		}},
	} {
		s, places, err := byLines(content, old, replacement, try.same)
		switch {
		case err != nil:
			return nil, "", err
		case len(places) > 1:
			return nil, "", ambiguous(content, places)
		case len(places) == 1:
			return []span{s}, try.how, nil
		}
	}
	return nil, "", missing(content, old)
}

func trimEnd(s string) string { return strings.TrimRight(s, " \t") }

// maxPlaces is how many places are looked for where one is wanted.
const maxPlaces = 1000

// occurrences returns where the text starts: all disjoint places, or, to see whether a place is the only one, also those
// that overlap, up to maxPlaces.
func occurrences(content, text string, all bool) (at []int) {
	for from := 0; from <= len(content)-len(text) && (all || len(at) < maxPlaces); {
		i := strings.Index(content[from:], text)
		if i < 0 {
			break
		}
		at = append(at, from+i)
		from += i + 1
		if all {
			from += len(text) - 1
		}
	}
	return at
}

// byLines looks for a run of whole lines that are the same as those of the old text.
func byLines(content, old, replacement string, same func(have, want string) bool) (span, []int, error) {
	want := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	if strings.TrimSpace(old) == "" {
		return span{}, nil, nil // blank lines are everywhere
	}
	lines, starts := lineStarts(content)
	first, places := linePlaces(lines, starts, want, same)
	if len(places) != 1 {
		return span{}, places, nil
	}
	have := lines[first : first+len(want)]
	text, err := reindent(strings.Split(strings.TrimSuffix(replacement, "\n"), "\n"), want, have)
	if err != nil {
		return span{}, nil, fmt.Errorf(
			"the text is at line %d with another indentation, and %w: copy it exactly as it is:\n%s",
			first+1, err, excerpt(lines, first, first+len(want)))
	}
	s := span{Start: starts[first], End: starts[first+len(want)-1] + len(lines[first+len(want)-1]), Text: text}
	switch {
	case replacement == "" && s.End < len(content):
		s.End++ // the lines go, and so does the end of the last one
	case !strings.HasSuffix(old, "\n") && strings.HasSuffix(replacement, "\n"):
		s.Text += "\n"
	case strings.HasSuffix(old, "\n") && !strings.HasSuffix(replacement, "\n") && s.End < len(content):
		s.End++
	}
	return s, places, nil
}

// linePlaces returns the first line and the byte of every place where a run of lines is the same. Its work is bounded: text
// that repeats itself so often that the bound is met has no clear place anyway.
func linePlaces(lines []string, starts []int, want []string, same func(have, want string) bool) (first int, places []int) {
	const maxCompared = 5_000_000
	compared := 0
	for i := 0; i+len(want) <= len(lines) && len(places) < maxPlaces && compared < maxCompared; i++ {
		j := 0
		for j < len(want) && same(lines[i+j], want[j]) {
			j++
		}
		compared += j + 1
		if j < len(want) {
			continue
		}
		if len(places) == 0 {
			first = i
		}
		places = append(places, starts[i])
	}
	if compared >= maxCompared {
		return 0, nil
	}
	return first, places
}

// lineStarts takes a content apart and says at which byte each line starts.
func lineStarts(content string) (lines []string, starts []int) {
	lines = strings.Split(content, "\n")
	starts = make([]int, len(lines))
	at := 0
	for i, line := range lines {
		starts[i] = at
		at += len(line) + 1
	}
	return lines, starts
}

// reindent gives the lines of the replacement the indentation of the file, as the old text's lines translate it.
func reindent(lines, want, have []string) (string, error) {
	translate := map[string]string{}
	for i := range want {
		if strings.TrimSpace(want[i]) == "" {
			continue
		}
		from, to := indent(want[i]), indent(have[i])
		if known, twice := translate[from]; twice && known != to {
			return "", errors.New("its lines are shifted unevenly")
		}
		translate[from] = to
	}
	shifted := make([]string, len(lines))
	for i, line := range lines {
		if strings.TrimSpace(line) == "" {
			continue // a blank line stays empty
		}
		to, ok := shift(indent(line), translate)
		if !ok {
			return "", fmt.Errorf("it is not clear how to indent the new line %q", text.Short(strings.TrimSpace(line), 80))
		}
		shifted[i] = to + line[len(indent(line)):]
	}
	return strings.Join(shifted, "\n"), nil
}

func indent(line string) string { return line[:len(line)-len(strings.TrimLeft(line, " \t"))] }

// shift translates one indentation: by what all lines of the place have more or less, else as a known one, else deeper than
// a known one. It does not guess where tabs and spaces would mix.
func shift(from string, translate map[string]string) (string, bool) {
	if to, ok := translate[from]; ok {
		return to, true
	}
	if to, ok := evenShift(from, translate); ok {
		return to, true
	}
	best, found := "", false
	for known := range translate {
		if strings.HasPrefix(from, known) && (!found || len(known) > len(best)) {
			best, found = known, true
		}
	}
	if !found {
		return "", false
	}
	to := translate[best] + from[len(best):]
	return to, !mixed(to)
}

// evenShift moves an indentation by what every known one is moved.
func evenShift(from string, translate map[string]string) (string, bool) {
	more, less, seen := "", "", false
	for have, to := range translate {
		var m, l string
		switch {
		case strings.HasSuffix(to, have):
			m = to[:len(to)-len(have)]
		case strings.HasSuffix(have, to):
			l = have[:len(have)-len(to)]
		default:
			return "", false
		}
		if seen && (m != more || l != less) {
			return "", false
		}
		more, less, seen = m, l, true
	}
	rest, ok := strings.CutPrefix(from, less)
	to := more + rest
	return to, seen && ok && (more == "" || !mixed(to))
}

func mixed(indentation string) bool {
	return strings.Contains(indentation, "\t") && strings.Contains(indentation, " ")
}
