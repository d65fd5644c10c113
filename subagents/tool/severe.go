package tool

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/text"
)

// severity is how bad a line is.
type severity int

const (
	harmless severity = iota
	warns
	fails
)

// What follows is known from compilers, linters, test runners and logs; every pattern sees one line. A line too many in a
// summary costs little, a missing error a lot: in doubt a line is an error.
var (
	// A word counts where it is no part of a path, a name or an option.
	failWords = regexp.MustCompile(`(?i)(?:^|[^\w/.\\-])(?:\w*(?:error|exception)s?|fatal|panic(?:ked)?|` +
		`fail(?:ed|ures?|s|ing)?|traceback|abort(?:ed|ing)?|crash(?:ed)?|segfault|segmentation fault|critical|killed|` +
		`unresolved|undefined|unhandled|uncaught|not ok|cannot|can't|could ?n[o']t|unable to|no such file|not found|` +
		`permission denied|access denied|connection refused|timed out|core dumped|out of memory|stack overflow|` +
		`data race|exit (?:status|code) [1-9]\d*|exited with (?:code )?[1-9]\d*|(?-i:ERR))(?:$|[^\w/.-]|\.(?:$|\s))|` +
		`(?:^|[^\w/.\\-])(?:\w+\.)+\w+(?-i:Error|Exception)(?:$|[:\s])`)
	warnWords = regexp.MustCompile(`(?i)(?:^|[^\w/.\\-])(?:\w*warn(?:ing)?s?|deprecat(?:ed|ion|ions))(?:$|[^\w/.-]|\.(?:$|\s))`)
	// A place with a message, as compilers and linters write it: file.go:1:2: message, file.ts(1,2): message.
	diagnostic = regexp.MustCompile(`^[^\s:()]*\.[A-Za-z]\w*(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) \S`)
	remark     = regexp.MustCompile(`(?i)(?::|\s)(?:note|info|help|hint):`)
	// Signs of test runners and tools that use no such word.
	signs = regexp.MustCompile(`^\s*(?:✕|✖|✗|✘|×|❌|●)\s|^E\s{2,}\S|^E\d{4} |\*{3} |^go: `)
	calm  = regexp.MustCompile(`^go: (?:downloading|finding|extracting|upgraded|added)`)
	// Counts of nothing, as in 0 errors or failed: 0.
	nothing = regexp.MustCompile(`(?i)\b(?:0|no|zero|without)\s+(?:\w+\s+)?` +
		`(?:errors?|failures?|failed|fail|warnings?|exceptions?)\b|` +
		`\b(?:errors?|failures?|failed|fail|warnings?|exceptions?)["']?\s*[:=]?\s*0(?:$|[^\w.])`)

	// What a stack trace begins with, and its lines that are not indented.
	traceHead = regexp.MustCompile(`(?i)panic|traceback|goroutine \d|data race|fatal error|backtrace|stack trace|exception in`)
	traceLine = regexp.MustCompile(`^(?:goroutine \d+ |created by |\[signal |exit status |Previous |Goroutine |` +
		`[\w.*/()\[\]$·-]+\(.*\)$|={8,}$)`)
	// Lines that go on with what the line before says.
	goesOn = regexp.MustCompile(`(?i)^(?:(?:\d+ *)?\||\^|~|-->|= |\+ |> |at \S|\.{3} \d+ more|caused by|` +
		`note:|help:|hint:|during handling|the above exception)`)
)

// hints are in lower case: a line without any of them has none of the words above. They save most lines the expressions.
var hints = []string{
	"err", "exception", "fatal", "panic", "fail", "traceback", "abort", "crash", "segfault", "segmentation", "critical", "killed",
	"unresolved", "undefined", "unhandled", "uncaught", "unable", "not ok", "not found", "cannot", "can't", "could",
	"no such file", "denied", "refused", "timed out", "dumped", "out of memory", "overflow", "race", "exit", "warn", "deprecat",
}

// before is how many lines above an error line can belong to it.
const before = 20

// severe picks from an output every line that is an error or a warning, with the lines that belong to it: whole stack traces,
// what is quoted below a message, the lines around. What comes again is shown once, with its count.
func severe(output string) (failures, warnings string) {
	p := picker{lines: text.Lines(output)}
	p.grade()
	p.collect()
	return p.write(fails), p.write(warns)
}

// picker holds the lines of an output and what was found in them.
type picker struct {
	lines  []string
	grades []severity
	blocks []block
}

// block is a line that is an error or a warning, with what belongs to it: lines start to end, and with the
// lines around, first to last.
type block struct {
	grade                   severity
	first, start, end, last int
}

func (p *picker) grade() {
	p.grades = make([]severity, len(p.lines))
	for i, line := range p.lines {
		p.grades[i] = grade(line)
	}
}

// grade says how bad one line is: where it has both words, the first decides.
func grade(line string) severity {
	if calm.MatchString(line) {
		return harmless
	}
	var failing, warning []int
	if lower := strings.ToLower(line); slices.ContainsFunc(hints, func(h string) bool { return strings.Contains(lower, h) }) {
		words := nothing.ReplaceAllLiteralString(line, "-")
		failing, warning = failWords.FindStringIndex(words), warnWords.FindStringIndex(words)
	}
	switch {
	case warning != nil && (failing == nil || warning[0] <= failing[0]):
		return warns
	case failing != nil, signs.MatchString(line), diagnostic.MatchString(line) && !remark.MatchString(line):
		return fails
	}
	return harmless
}

func (p *picker) collect() {
	done := 0 // the first line that belongs to no block yet
	for i := 0; i < len(p.lines); i++ {
		if p.grades[i] == harmless {
			continue
		}
		b := block{grade: p.grades[i], first: p.above(i, done), start: i, end: p.below(i)}
		b.last = b.end
		if next := b.end + 1; next < len(p.lines) && p.grades[next] == harmless && strings.TrimSpace(p.lines[next]) != "" {
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

// below finds the last line that goes on with a message. A line that is a message of its own, unless it is part of a trace,
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
		case deeper(line, p.lines[start]), goesOn.MatchString(strings.TrimSpace(line)) && p.grades[i] == harmless:
			end = i
		case trace && traceLine.MatchString(line):
			end = i
		default:
			return end
		}
	}
	return end
}

// deeper says whether a line is indented more than another.
func deeper(line, other string) bool { return margin(line) > margin(other) }

func margin(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// write shows the blocks of one severity in their order, each with the number of its first line.
func (p *picker) write(grade severity) string {
	counts := map[string]int{}
	for _, b := range p.blocks {
		if b.grade == grade {
			counts[p.core(b)]++
		}
	}
	var out strings.Builder
	next := -1 // the line that would go on with what is written
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
