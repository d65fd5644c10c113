package gate

import (
	"strconv"
	"strings"

	"divisi/internal/lazyregexp"
)

// summaries are the lines in which test runners count. Groups: p passed, f failed or broken, t all that ran, k skipped.
var summaries = []*lazyregexp.Regexp{
	// cargo
	lazyregexp.New(`^test result: \w+\. (?P<p>\d+) passed; (?P<f>\d+) failed`),
	// jest, vitest
	lazyregexp.New(`^\s*Tests:?\s+(?:(?P<f>\d+) failed(?:,| \|) )?(?:\d+ \w+(?:,| \|) )*?(?P<p>\d+) passed`),
	// jest, vitest
	lazyregexp.New(`^\s*Tests:?\s+(?P<f>\d+) failed`),
	// pytest
	lazyregexp.New(`^=*\s*(?:(?P<f>\d+) failed, )?(?P<p>\d+) passed\b.* in [\d.]+`),
	// pytest
	lazyregexp.New(`^=*\s*(?P<f>\d+) failed\b.* in [\d.]+`),
	// mocha
	lazyregexp.New(`^\s*(?P<p>\d+) passing\b`),
	// mocha
	lazyregexp.New(`^\s*(?P<f>\d+) failing$`),
	// node, TAP
	lazyregexp.New(`^(?:ℹ|#) pass (?P<p>\d+)$`),
	// node, TAP
	lazyregexp.New(`^(?:ℹ|#) fail (?P<f>\d+)$`),
	// unittest
	lazyregexp.New(`^Ran (?P<t>\d+) tests? in `),
	// surefire
	lazyregexp.New(`^(?:\[\w+\] )?Tests run: (?P<t>\d+), Failures: (?P<f>\d+), Errors: (?P<f>\d+), Skipped: (?P<k>\d+)$`),
	// gradle
	lazyregexp.New(`^(?P<t>\d+) tests completed, (?P<f>\d+) failed`),
	// rspec
	lazyregexp.New(`^(?P<t>\d+) examples?, (?P<f>\d+) failures?`),
	// minitest
	lazyregexp.New(`^(?P<t>\d+) runs, \d+ assertions, (?P<f>\d+) failures, (?P<f>\d+) errors`),
	// phpunit
	lazyregexp.New(`^OK \((?P<p>\d+) tests?, `),
	// phpunit
	lazyregexp.New(`^Tests: (?P<t>\d+), Assertions: \d+(?:, Errors: (?P<f>\d+))?(?:, Failures: (?P<f>\d+))?`),
	// ava
	lazyregexp.New(`^\s*(?P<p>\d+) tests? passed$`),
	// ctest
	lazyregexp.New(`^\d+% tests passed, (?P<f>\d+) tests failed out of (?P<t>\d+)`),
}

// Other signs of test runners. failedOf follows the "Ran 3 tests" of unittest; goPassed is a Go package whose tests passed.
var (
	failedOf = lazyregexp.New(`^FAILED \((.*)\)$`)
	numbers  = lazyregexp.New(`(?:failures|errors)=(\d+)`)
	goPassed = lazyregexp.New(`^ok  \t\S+\t.*$`)
	noTests  = lazyregexp.New(`(?i)\bno tests? (?:files? )?(?:ran|found|were executed|to run|files?\])|` +
		`^collected 0 items|^running \d+ tests?$|` +
		`^1\.\.0\b|^Error: No test files found|^No tests found`)
)

// passing are the lines that name a test which passed. Groups: g what groups it, n its name.
var passing = []*lazyregexp.Regexp{
	lazyregexp.New(`^(?P<n>ok)  \t(?P<g>\S+)\t`),                        // a Go package
	lazyregexp.New(`^\s*--- PASS: (?P<n>\S+) \(`),                       // go test -v
	lazyregexp.New(`^test (?P<n>\S.*?)(?: - should panic)? \.\.\. ok$`), // cargo
	lazyregexp.New(`^(?P<g>[^\s:]+\.py)::(?P<n>\S.*?) PASSED\b`),        // pytest -v
	lazyregexp.New(`^(?P<n>\w+) \((?P<g>[\w.]+)\)(?:\s.*)? \.\.\. ok$`), // unittest -v
}

// skipping are the lines that name a test which was skipped. Groups: as above, and w the reason.
var skipping = []*lazyregexp.Regexp{
	lazyregexp.New(`^\s*--- SKIP: (?P<n>\S+) \(`),                                           // go test -v
	lazyregexp.New(`^test (?P<n>\S.*?) \.\.\. ignored(?:, (?P<w>.*))?$`),                    // cargo
	lazyregexp.New(`^(?P<g>[^\s:]+\.py)::(?P<n>\S.*?) SKIPPED\b(?: \((?P<w>.*)\))?`),        // pytest -v
	lazyregexp.New(`^(?P<n>\w+) \((?P<g>[\w.]+)\)(?:\s.*)? \.\.\. skipped '?(?P<w>.*?)'?$`), // unittest -v
}

var (
	// Lines that count tests, and in them the skipped ones.
	tallies = lazyregexp.New(`^test result: |^\s*Tests:?\s|^=*\s*\d+ \w+\b.* in [\d.]+m?s|^\s*\d+ pending$|` +
		`^\d+ (?:examples?|runs), |^(?:ℹ|#) skipped |^(?:OK|FAILED) \(|^(?:\[\w+\] )?Tests run: .*Skipped: \d+$`)
	tallied      = lazyregexp.New(`\b(\d+) (?:skipped|ignored|pending|skips)\b|\b[Ss]kipped(?:: |=| )(\d+)`)
	unittestEnds = lazyregexp.New(`^(?:OK|FAILED) \(`)
	// pytest -rs gives places and reasons, go test -v the reason in the line before.
	skippedAt = lazyregexp.New(`^SKIPPED \[\d+\] (.*)$`)
	logged    = lazyregexp.New(`^\s*\S+\.go:\d+: (.*)$`)
)

// skip takes from a line the tests that it reports as skipped.
func (p *textParser) skip(line string) {
	if m := skippedAt.FindStringSubmatch(line); m != nil {
		p.found.skipFor(p.names.line(m[1]), "")
	}
	for i, pattern := range skipping {
		if m := pattern.FindStringSubmatch(line); m != nil {
			group, why := p.crate, ""
			if at := pattern.SubexpIndex("g"); at > 0 {
				group = m[at]
			}
			if at := pattern.SubexpIndex("w"); at > 0 {
				why = m[at]
			} else if m := logged.FindStringSubmatch(p.before); i == 0 && m != nil {
				why = m[1]
			}
			p.found.skip(strings.TrimSpace(group), p.names.test(m[pattern.SubexpIndex("n")]), why)
			return
		}
	}
	if !tallies.MatchString(line) {
		return
	}
	for _, m := range tallied.FindAllStringSubmatch(line, -1) {
		p.tallied += number(m[1] + m[2])
		p.found.runner = true
	}
	if m := tallied.FindStringSubmatch(line); m != nil && unittestEnds.MatchString(line) { // its count of tests has them
		n := min(number(m[1]+m[2]), p.found.passed)
		p.found.tests, p.found.passed = p.found.tests-n, p.found.passed-n
	}
}

// name takes from a line the test that it reports as passed.
func (p *textParser) name(line string) {
	for i, pattern := range passing {
		m := pattern.FindStringSubmatch(line)
		if m == nil || i == 0 && strings.Contains(line, "[no tests to run]") {
			continue
		}
		group := p.crate
		if at := pattern.SubexpIndex("g"); at > 0 {
			group = m[at]
		}
		p.found.ran.Pass(strings.TrimSpace(group), p.names.test(m[pattern.SubexpIndex("n")]))
	}
}

// counts reports whether a line can be a count.
func (p *textParser) counts(line string) bool {
	for _, hint := range []string{
		"test", "Test", "TEST", "passed",
		"passing", "PASSED", "PASS: ", "... ok", "failed", " failing", "pass ", "fail ",
		"examples,", " runs, ", "items", "1..0", "ok  \t", "FAILED (",
		"skipped", "SKIP", "... ignored", " pending", "Skipped: ",
	} {
		if strings.Contains(line, hint) {
			return true
		}
	}
	return false
}

// count takes from a line how many tests ran and passed.
func (p *textParser) count(line string) {
	p.name(line)
	p.skip(line)
	if noTests.MatchString(line) {
		p.found.runner = true
	}
	if goPassed.MatchString(line) && !strings.Contains(line, "[no tests to run]") {
		p.found.count(true) // how many there are in it the output does not tell
		return
	}
	if m := failedOf.FindStringSubmatch(line); m != nil {
		for _, n := range numbers.FindAllStringSubmatch(m[1], -1) {
			p.found.passed = max(0, p.found.passed-number(n[1]))
		}
		return
	}
	for _, pattern := range summaries {
		m := pattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		of := map[string]int{}
		for i, name := range pattern.SubexpNames() {
			of[name] += number(m[i])
		}
		if of["t"] > 0 {
			of["p"] = max(0, of["t"]-of["f"]-of["k"])
			of["f"] = min(of["f"], of["t"]) // a test can count twice
		}
		p.found.runner = true
		p.found.tests += of["p"] + of["f"]
		p.found.passed += of["p"]
		return
	}
}

// number reads digits; what is no sensible number of tests is 0.
func number(digits string) int {
	n, err := strconv.Atoi(digits)
	if err != nil || n >= 1<<24 {
		return 0
	}
	return n
}
