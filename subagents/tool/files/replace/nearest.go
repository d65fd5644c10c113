package replace

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/text"
)

// ambiguous says at which lines a text stands.
func ambiguous(content string, at []int) error {
	const most = 20
	var numbers []string
	for _, start := range at[:min(len(at), most)] {
		numbers = append(numbers, strconv.Itoa(1+strings.Count(content[:start], "\n")))
	}
	numbers = slices.Compact(numbers)
	more := ""
	if len(at) > most {
		more = fmt.Sprintf(" and %d more places", len(at)-most)
	}
	return fmt.Errorf("old_text occurs in %d places, at lines %s%s: add lines around it until it is unique, or set replace_all",
		len(at), strings.Join(numbers, ", "), more)
}

// missing reports that a text is not there, and shows the place that is most like it.
func missing(content, old string) error {
	lines := strings.Split(content, "\n")
	want := strings.Split(strings.TrimSuffix(old, "\n"), "\n")
	at, like := mostAlike(lines, want)
	if !like {
		return errors.New("old_text is not in the file, and nothing there is like it: read the file and copy the text exactly")
	}
	return fmt.Errorf("old_text is not in the file. The nearest place is at line %d; copy from there exactly:\n%s",
		at+1, excerpt(lines, at, at+len(want)))
}

// mostAlike finds where the lines are most like the wanted ones: by equal lines, else by the first line alone.
func mostAlike(lines, want []string) (at int, like bool) {
	trimmed := make(map[string][]int, len(want)) // text of a wanted line -> its indexes
	for j, w := range want {
		if w = strings.TrimSpace(w); len(w) > 1 {
			trimmed[w] = append(trimmed[w], j)
		}
	}
	votes := map[int]int{} // line where the wanted text would begin -> equal lines
	for i, line := range lines {
		for _, j := range first(trimmed[strings.TrimSpace(line)], 8) {
			if i >= j {
				votes[i-j]++
			}
		}
	}
	best := 0
	for start, n := range votes {
		if n > best || n == best && start < at {
			best, at = n, start
		}
	}
	if best > 0 {
		return at, true
	}
	return alikeLine(lines, want)
}

func first(list []int, most int) []int { return list[:min(len(list), most)] }

// alikeLine finds the line that shares most pairs of characters with the first wanted line that has text.
func alikeLine(lines, want []string) (at int, like bool) {
	skip := slices.IndexFunc(want, func(w string) bool { return len(strings.TrimSpace(w)) > 2 })
	if skip < 0 {
		return 0, false
	}
	target := pairs(want[skip])
	best := 0.5
	for i, line := range lines {
		if have := pairs(line); len(have) > 0 {
			shared := 0
			for p := range have {
				if target[p] {
					shared++
				}
			}
			if score := 2 * float64(shared) / float64(len(have)+len(target)); score > best {
				best, at, like = score, max(0, i-skip), true
			}
		}
	}
	return at, like
}

func pairs(line string) map[[2]byte]bool {
	line = strings.TrimSpace(line)
	line = line[:min(len(line), 200)]
	set := make(map[[2]byte]bool, len(line))
	for i := 1; i < len(line); i++ {
		set[[2]byte{line[i-1], line[i]}] = true
	}
	return set
}

// excerpt shows some lines with their numbers.
func excerpt(lines []string, from, to int) string {
	const most = 20
	var b strings.Builder
	to = min(to, len(lines))
	for i := max(0, from); i < min(to, from+most); i++ {
		b.WriteString(text.Numbered(i+1, lines[i], 300))
	}
	if to-from > most {
		fmt.Fprintf(&b, "[%d more lines]\n", to-from-most)
	}
	return b.String()
}
