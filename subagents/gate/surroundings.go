package gate

import (
	"cmp"
	"strings"

	"divisi/internal/lazyregexp"
)

// maxWaiting bounds the failures that wait for the line that names their package, and the lines of a Python traceback.
const maxWaiting = 1000

var (
	// The file of the tests after a line, as jest, vitest and node write it; the package of the errors after it, as go does.
	testFile  = lazyregexp.New(`^\s*(?:FAIL|❯) +(\S.*?\.\w+)(?: +[(>[].*)?$|^test at (.+):\d+:\d+$`)
	goHeading = lazyregexp.New(`^# ([^\s:\[]+)(?: \[.+\])?$`)
	// The package of the Go tests before a line.
	goResult = lazyregexp.New(`^FAIL\t(.+?)(?:\t| \[|$)`)
	// Where node found an error, above it.
	thrownAt = lazyregexp.New(`^\S+\.[cm]?js:\d+$`)
	goPlace  = lazyregexp.New(`\.go:\d+(?::\d+)?: `)
	// The crate of the Rust tests after a line.
	crateTests = lazyregexp.New(`^\s+Running .*deps/([\w-]+)-[0-9a-f]+(?:\.exe)?\)$|^\s+Doc-tests (\S+)$`)
)

// surroundings is the place of a failure as the lines around it show it, in output without structure.
type surroundings struct {
	// file is that of the tests below a heading, pkg the Go package of the errors below one.
	file, pkg string
	// waiting are failures of Go tests: the line with their package comes after them.
	waiting []string
	// above is the last of them.
	above string
	// current is the signature that the next lines are about; frames are the files of a traceback, which come before its error.
	current string
	frames  []string
	// crate is that of the Rust tests below a heading, with a blank. crashed reports whether a Go test panicked: those
	// after it in its package did not run. broken is the first error of each Go package that did not build, brokenGo the first of
	// all.
	crate    string
	crashed  bool
	broken   map[string]string
	brokenGo string
	// cause is the first failed test of the Go package whose result is this line.
	cause string
}

func (c *surroundings) line(found *findings, line string) {
	start := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(start, "Traceback "):
		c.frames = nil
	case strings.HasPrefix(start, `File "`) && len(c.frames) < maxWaiting:
		c.frames = append(c.frames, line)
	case strings.Contains(line, "js:") && thrownAt.MatchString(line):
		c.frames = []string{line}
	case strings.HasPrefix(line, "# "):
		if m := goHeading.FindStringSubmatch(line); m != nil {
			c.pkg = m[1]
		}
	case strings.HasPrefix(line, "     Running "), strings.HasPrefix(line, "   Doc-tests "):
		if m := crateTests.FindStringSubmatch(line); m != nil {
			c.crate = m[1] + m[2] + " "
		}
	case strings.HasPrefix(line, "ok  \t"), strings.HasPrefix(start, "PASS "), strings.HasPrefix(line, "make"):
		c.waiting, c.file, c.current = nil, "", "" // it is about no failure above
	case strings.HasPrefix(line, "FAIL\t"):
		if m := goResult.FindStringSubmatch(line); m != nil {
			for _, signature := range c.waiting {
				found.own(signature, m[1])
			}
		}
		c.cause = ""
		if len(c.waiting) > 0 {
			c.cause = c.waiting[0]
		}
		c.waiting = nil
	case strings.HasPrefix(start, "FAIL "), strings.HasPrefix(start, "❯ "), strings.HasPrefix(start, "test at "):
		if m := testFile.FindStringSubmatch(line); m != nil {
			c.file = m[1] + m[2]
		}
	}
}

// failed records what a signature belongs to. The line that reports it has been added.
func (c *surroundings) failed(found *findings, signature, line string) {
	c.current = signature
	start := strings.TrimLeft(line, " ")
	switch {
	case strings.HasPrefix(start, "--- FAIL: "), strings.HasPrefix(start, "panic: "):
		if len(c.waiting) < maxWaiting {
			c.waiting = append(c.waiting, signature)
		}
		if strings.HasPrefix(start, "panic: ") {
			c.crashed = true
			found.follow(c.above, signature)
		}
		c.above = signature
		for parent := signature; strings.HasPrefix(start, "--- "); { // it failed because of what is in it
			at := strings.LastIndexByte(parent, '/')
			if at < 0 {
				break
			}
			parent = parent[:at]
			found.follow(parent, signature)
		}
	case strings.HasPrefix(line, "FAIL\t"):
		if m := goResult.FindStringSubmatch(line); m != nil {
			found.own(signature, m[1])
			if strings.HasSuffix(line, " failed]") {
				c.cause = cmp.Or(c.broken[m[1]], c.brokenGo)
			}
		}
		found.follow(signature, c.cause)
	case strings.HasPrefix(signature, "test: ") && c.file == "":
	case strings.HasPrefix(signature, "test: "), strings.HasPrefix(signature, eslintError):
		found.own(signature, c.file)
		found.follow("FAIL "+c.file, signature)
	case goPlace.MatchString(line):
		found.own(signature, c.pkg)
		if c.brokenGo = cmp.Or(c.brokenGo, signature); c.broken == nil {
			c.broken = map[string]string{}
		}
		c.broken[c.pkg] = cmp.Or(c.broken[c.pkg], signature)
	default:
		found.say(signature, c.frames...)
		c.frames = nil
	}
}
