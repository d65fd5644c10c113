// Package errorline holds the one table of patterns of error lines, as compilers, linters, test runners and logs write them. Its
// input is one line of an output. It returns the line's class, from which a gate makes signatures, or its severity, by which a
// summary keeps it. It never reads a second line and never changes one.
package errorline

import (
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// Class is the meaning of a line for a gate.
type Class int

// The classes.
const (
	Plain Class = iota
	// Noise comes with any failure: as a signature it would let a new failure hide behind an old one.
	Noise
	// Test names a test that failed: the name is the signature.
	Test
	// Error states an error: the line is the signature.
	Error
	// Complaint has a word that reports an error. It becomes no signature.
	Complaint
)

// Severity is how bad a line is.
type Severity int

// The severities.
const (
	Harmless Severity = iota
	Warns
	Fails
)

// table lists the patterns by class: the first that matches decides. A sign makes a line an error for a summary too, although the
// line has none of the words below. Every pattern sees a line without terminal codes.
var table = []struct {
	class   Class
	sign    bool
	pattern *lazyregexp.Regexp
}{
	{Error, false, lazyregexp.New(`^npm (?:ERR!|error) (?:\S+ )?` +
		`(?:Invalid|Missing script|Could not|Cannot|No matching version|\w*Error)\b`)},
	{Noise, false, lazyregexp.New(`(?i)^(?:make(?:\[\d+\])?: \*\*\*|npm (?:ERR!|error|warn)|` +
		`go: (?:downloading|finding|extracting|warning)|error: (?:test failed, to rerun|could not compile|` +
		`aborting due to|process completed|command failed|script ".*" exited)|` +
		`error: process didn't exit|error: \d+ targets? failed|` +
		`error: (?:subprocess-exited-with-error|metadata-generation-failed)|` +
		`× (?:.* did not run successfully\.|Encountered error while )|exit status|test at \S.*:\d+:\d+$|✖ \d+ problems|` +
		`go: errors parsing go\.\w+:$|collect2: error: ld returned|\S+:\d+:\w+:(?:PASS|IGNORE)|clang: error: linker command|` +
		`error: \d+ error\(s\) found|\S+:\d+: : # \S+$|✖ failing tests:|` +
		`\s*[✓✔√]\s|\S+\.py:\d+: in \S+$|.*: warning:|.*: note:|FAIL$|.*# *(?:todo|skip)\b)`)},
	{Test, false, lazyregexp.New(`^\s*--- FAIL: (\S+)`)},                                  // go test
	{Test, false, lazyregexp.New(`^(?:FAILED|ERROR) (\S.*?::.+?)(?: - .*)?$`)},            // pytest
	{Test, false, lazyregexp.New(`^ERROR (\S.*?\.py)(?: - .*)?$`)},                        // pytest, a broken file
	{Test, false, lazyregexp.New(`^(?:FAIL|ERROR): (\S+ \(\S+\))`)},                       // unittest
	{Test, false, lazyregexp.New(`^FAILED: (\S.*)$`)},                                     // reporters of projects
	{Test, false, lazyregexp.New(`^test (\S.*?) \.\.\. FAILED$`)},                         // cargo
	{Test, false, lazyregexp.New(`^\s*(?:✕|✖|✗|×) (.+?)(?: \(?\d+(?:\.\d+)? ?m?s\)?)?$`)}, // jest, vitest, node
	{Test, false, lazyregexp.New(`^\s*not ok \d+ (?:- )?(.+)$`)},                          // TAP
	{Test, false, lazyregexp.New(`^\s*● (.+ › .+)$`)},                                     // jest
	{Test, false, lazyregexp.New(`^\s*FAIL  "(.+)"$`)},                                    // uvu
	{Test, false, lazyregexp.New(`^\d+ - (.+): FAILED$`)},                                 // testhelp.h
	// A name that no object file has.
	{Error, false, lazyregexp.New(`: (?:undefined reference to|multiple definition of) `)},
	// A file and a line; a directory can have spaces in its name, and a tool can quote the whole.
	{Error, false, lazyregexp.New(`^(?:[^\s:()]*|[^\s:()][^:()]*/[^:()]*)\.[A-Za-z][A-Za-z0-9]*"?` +
		`(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) ?\S`)},
	{Error, false, lazyregexp.New(`^\[ERROR\] \S.*\.\w+:\[\d+,\d+\] \S`)},             // javac, as Maven prints it
	{Error, false, lazyregexp.New(`^\[ERROR\] Detected .* not in the allowed range`)}, // Maven's enforcer
	{Error, false, Malformed},
	{Error, false, lazyregexp.New(`^FAIL\s+\S+`)},
	{Error, false, lazyregexp.New(`(?i)^\s*(?:error|fatal|fatal error|panic)(?:\[\w+\])?:`)},
	{Error, false, lazyregexp.New(`(?i): (?:fatal )?error(?: \w+)?: `)},
	{Error, false, lazyregexp.New(`^(?:E\s+)?(?:\w+\.)*\w*(?:Error|Exception)\b(?::|$)`)},
	{Error, true, lazyregexp.New(`^go: `)},
	{Error, false, lazyregexp.New(`^\s+\d+:\d+\s+error\s`)}, // eslint
	{Complaint, false, lazyregexp.New(`(?i)\b(?:error|err!|failed|failure|cannot|can't|could not|couldn't|unable to|` +
		`not found|no such|denied|refused|timed out)`)},
	{Plain, true, lazyregexp.New(`^\s*(?:✕|✖|✗|✘|×|❌|●)\s|^E\s{2,}\S|^E\d{4} |\*{3} `)}, // test runners, pytest, glog, make
}

// Malformed is printed by the go command about a package that it cannot import, because of a character in its directory's name.
var Malformed = lazyregexp.New(`^malformed import path "(.+)": invalid char `)

// The words by which a summary finds a line. A line too many in a summary costs little, a missing error a lot: in doubt a line
// is an error.
var (
	// A word counts where it is no part of a path, a name or an option.
	failWords = lazyregexp.New(`(?i)(?:^|[^\w/.\\-])(?:\w*(?:error|exception)s?|fatal|panic(?:ked)?|` +
		`fail(?:ed|ures?|s|ing)?|traceback|abort(?:ed|ing)?|crash(?:ed)?|segfault|segmentation fault|critical|killed|` +
		`unresolved|undefined|unhandled|uncaught|not ok|cannot|can't|could ?n[o']t|unable to|no such file|not found|` +
		`permission denied|access denied|connection refused|timed out|core dumped|out of memory|stack overflow|` +
		`data race|exit (?:status|code) [1-9]\d*|exited with (?:code )?[1-9]\d*|(?-i:ERR))(?:$|[^\w/.-]|\.(?:$|\s))|` +
		`(?:^|[^\w/.\\-])(?:\w+\.)+\w+(?-i:Error|Exception)(?:$|[:\s])`)
	warnWords = lazyregexp.New(`(?i)(?:^|[^\w/.\\-])(?:\w*warn(?:ing)?s?|deprecat(?:ed|ion|ions))(?:$|[^\w/.-]|\.(?:$|\s))`)
	// A place with a message: file.go:1:2: message, file.ts(1,2): message. A search prints places too, without the blank.
	diagnostic = lazyregexp.New(`^[^\s:()]*\.[A-Za-z]\w*(?::\d+(?::\d+)?:|\(\d+(?:,\d+)?\):) \S`)
	remark     = lazyregexp.New(`(?i)(?::|\s)(?:note|info|help|hint):`)
	calm       = lazyregexp.New(`^go: (?:downloading|finding|extracting|upgraded|added)`)
	// Counts of nothing, as in 0 errors or failed: 0.
	nothing = lazyregexp.New(`(?i)\b(?:0|no|zero|without)\s+(?:\w+\s+)?` +
		`(?:errors?|failures?|failed|fail|warnings?|exceptions?)\b|` +
		`\b(?:errors?|failures?|failed|fail|warnings?|exceptions?)["']?\s*[:=]?\s*0(?:$|[^\w.])`)
)

// Hints are in lower case and save most lines of a long output the expressions. A line with one of the words has one of
// wordHints; a line that is a Test or an Error has one of nameHints, or a number after a colon or a bracket.
var (
	wordHints = []string{
		"err", "exception", "fatal", "panic", "fail", "traceback", "abort", "crash", "segfault", "segmentation", "critical",
		"killed", "unresolved", "undefined", "unhandled", "uncaught", "unable", "not ok", "not found", "cannot", "can't", "could",
		"no such file", "denied", "refused", "timed out", "dumped", "out of memory", "overflow", "race", "exit", "warn",
		"deprecat",
	}
	nameHints = []string{
		"error", "fail", "panic", "fatal", "exception", "not ok", "go: ", "pass", "terminated", "stdout ----", "___", "malformed",
		"undefined reference", "multiple definition", "npm err",
		"✕", "✖", "✗", "×", "●",
	}
)

func hinted(line string, hints []string) bool {
	lower := strings.ToLower(line)
	return slices.ContainsFunc(hints, func(hint string) bool { return strings.Contains(lower, hint) })
}

// Hinted reports whether a line can be a Test or an Error. It is also true for a count of tests and for the headings under
// which test runners print what a failed test printed.
func Hinted(line string) bool {
	if hinted(line, nameHints) {
		return true
	}
	for i := 1; i < len(line); i++ {
		if (line[i-1] == ':' || line[i-1] == '(') && line[i] >= '0' && line[i] <= '9' {
			return true
		}
	}
	return false
}

// Classify returns the class of a line, and the test that a Test names.
func Classify(line string) (class Class, test string) {
	for _, row := range table {
		if row.class == Plain {
			continue
		}
		if m := row.pattern.FindStringSubmatch(line); m != nil {
			return row.class, m[len(m)-1]
		}
	}
	return Plain, ""
}

// Grade returns how bad a line is: where it has a word of an error and one of a warning, the first decides.
func Grade(line string) Severity {
	if calm.MatchString(line) {
		return Harmless
	}
	var failing, warning []int
	if hinted(line, wordHints) {
		words := nothing.ReplaceAllLiteralString(line, "-")
		failing, warning = failWords.FindStringIndex(words), warnWords.FindStringIndex(words)
	}
	switch {
	case warning != nil && (failing == nil || warning[0] <= failing[0]):
		return Warns
	case failing != nil, signed(line), diagnostic.MatchString(line) && !remark.MatchString(line):
		return Fails
	}
	return Harmless
}

func signed(line string) bool {
	for _, row := range table {
		if row.sign && row.pattern.MatchString(line) {
			return true
		}
	}
	return false
}
