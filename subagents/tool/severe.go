package tool

import (
	"fmt"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/text"
	"divisi/subagents/errorline"
)

var (
	// What a stack trace begins with, and its lines that are not indented.
	traceHead = lazyregexp.New(`(?i)panic|traceback|goroutine \d|data race|fatal error|backtrace|stack trace|exception in`)
	traceLine = lazyregexp.New(`^(?:goroutine \d+ |created by |\[signal |exit status |Previous |Goroutine |` +
		`[\w.*/()\[\]$·-]+\(.*\)$|={8,}$)`)
	// Lines that continue the line before.
	goesOn = lazyregexp.New(`(?i)^(?:(?:\d+ *)?\||\^|~|-->|= |\+ |> |at \S|\.{3} \d+ more|caused by|` +
		`note:|help:|hint:|during handling|the above exception)`)
)

// before is how many lines above an error line can belong to it.
const before = 20

// severe picks from an output every line that is an error or a warning, with the lines that belong to it: whole stack traces,
// what is quoted below a message, the lines around. What comes again is shown once, with its count.
func severe(output string) (failures, warnings string) {
	p := picker{lines: text.Lines(output)}
	p.grade()
	p.collect()
	return p.write(errorline.Fails), p.write(errorline.Warns)
}

// picker holds the lines of an output and what was found in them.
type picker struct {
	lines  []string
	grades []errorline.Severity
	blocks []block
}

// block is a line that is an error or a warning, with what belongs to it: lines start to end, and with the
// lines around, first to last.
type block struct {
	grade                   errorline.Severity
	first, start, end, last int
}

func (p *picker) grade() {
	p.grades = make([]errorline.Severity, len(p.lines))
	for i, line := range p.lines {
		p.grades[i] = errorline.Grade(line)
	}
}

func (p *picker) collect() {
	done := 0 // the first line that belongs to no block yet
	for i := 0; i < len(p.lines); i++ {
		if p.grades[i] == errorline.Harmless {
			continue
		}
		b := block{grade: p.grades[i], first: p.above(i, done), start: i, end: p.below(i)}
		b.last = b.end
		next := b.end + 1
		if next < len(p.lines) && p.grades[next] == errorline.Harmless && strings.TrimSpace(p.lines[next]) != "" {
			b.last = next
		}
		p.blocks = append(p.blocks, b)
		i, done = b.end, b.end+1
	}
}

// above finds the first line above a message that belongs to it: what is indented below a heading, and the heading.
func (p *picker) above(start, done int) int {
	from := start
	for from > done && start-from < before && (deeper(p.lines[from-1], p.lines[start]) || goesOn.MatchString(p.lines[from-1])) {
		from--
	}
	if from > done && strings.TrimSpace(p.lines[from-1]) != "" {
		from--
	}
	return from
}

// below finds the last line that continues a message. A line that is a message of its own, unless it is part of a trace,
// ends it.
func (p *picker) below(start int) int {
	end, trace := start, traceHead.MatchString(p.lines[start])
	for i := start + 1; i < len(p.lines); i++ {
		line := p.lines[i]
		switch {
		case strings.TrimSpace(line) == "":
			if !trace {
				return end
			}
		case p.grades[i] > p.grades[start]:
			return end
		case deeper(line, p.lines[start]), goesOn.MatchString(strings.TrimSpace(line)) && p.grades[i] == errorline.Harmless:
			end = i
		case trace && traceLine.MatchString(line):
			end = i
		default:
			return end
		}
	}
	return end
}

// deeper reports whether a line is indented more than another.
func deeper(line, other string) bool { return margin(line) > margin(other) }

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// write shows the blocks of one severity in their order, each with the number of its first line.
func (p *picker) write(grade errorline.Severity) string {
	counts := map[string]int{}
	for _, b := range p.blocks {
		if b.grade == grade {
			counts[p.core(b)]++
		}
	}
	var out strings.Builder
	next := -1 // the line that would continue what is written
	for _, b := range p.blocks {
		times := counts[p.core(b)]
		if b.grade != grade || times == 0 {
			continue
		}
		counts[p.core(b)] = 0
		from := max(b.first, next)
		if times > 1 {
			fmt.Fprintf(&out, "[line %d, and %d more like it]\n", from+1, times-1)
		} else if from != next {
			fmt.Fprintf(&out, "[line %d]\n", from+1)
		}
		for ; from <= b.last; from++ {
			out.WriteString(p.lines[from] + "\n")
		}
		next = from
	}
	return strings.TrimSuffix(out.String(), "\n")
}

func (p *picker) core(b block) string { return strings.Join(p.lines[b.start:b.end+1], "\n") }
