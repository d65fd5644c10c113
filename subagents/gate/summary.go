package gate

import (
	"regexp"
	"strconv"
	"strings"
)

// summaries are the lines in which test runners count. Groups: p passed, f failed or broken, t all that ran, k skipped.
var summaries = []*regexp.Regexp{
	// cargo
	regexp.MustCompile(`^test result: \w+\. (?P<p>\d+) passed; (?P<f>\d+) failed`),
	// jest, vitest
	regexp.MustCompile(`^\s*Tests:?\s+(?:(?P<f>\d+) failed(?:,| \|) )?(?:\d+ \w+(?:,| \|) )*?(?P<p>\d+) passed`),
	// jest, vitest
	regexp.MustCompile(`^\s*Tests:?\s+(?P<f>\d+) failed`),
	// pytest
	regexp.MustCompile(`^=*\s*(?:(?P<f>\d+) failed, )?(?P<p>\d+) passed\b.* in [\d.]+`),
	// pytest
	regexp.MustCompile(`^=*\s*(?P<f>\d+) failed\b.* in [\d.]+`),
	// mocha
	regexp.MustCompile(`^\s*(?P<p>\d+) passing\b`),
	// mocha
	regexp.MustCompile(`^\s*(?P<f>\d+) failing$`),
	// node, TAP
	regexp.MustCompile(`^(?:ℹ|#) pass (?P<p>\d+)$`),
	// node, TAP
	regexp.MustCompile(`^(?:ℹ|#) fail (?P<f>\d+)$`),
	// unittest
	regexp.MustCompile(`^Ran (?P<t>\d+) tests? in `),
	// surefire
	regexp.MustCompile(`^(?:\[\w+\] )?Tests run: (?P<t>\d+), Failures: (?P<f>\d+), Errors: (?P<f>\d+), Skipped: (?P<k>\d+)$`),
	// gradle
	regexp.MustCompile(`^(?P<t>\d+) tests completed, (?P<f>\d+) failed`),
	// rspec
	regexp.MustCompile(`^(?P<t>\d+) examples?, (?P<f>\d+) failures?`),
	// minitest
	regexp.MustCompile(`^(?P<t>\d+) runs, \d+ assertions, (?P<f>\d+) failures, (?P<f>\d+) errors`),
	// phpunit
	regexp.MustCompile(`^OK \((?P<p>\d+) tests?, `),
	// phpunit
	regexp.MustCompile(`^Tests: (?P<t>\d+), Assertions: \d+(?:, Errors: (?P<f>\d+))?(?:, Failures: (?P<f>\d+))?`),
	// ava
	regexp.MustCompile(`^\s*(?P<p>\d+) tests? passed$`),
	// ctest
	regexp.MustCompile(`^\d+% tests passed, (?P<f>\d+) tests failed out of (?P<t>\d+)`),
}

// Other signs of test runners. failedOf follows the "Ran 3 tests" of unittest; goPassed is a Go package whose tests passed.
var (
	failedOf = regexp.MustCompile(`^FAILED \((.*)\)$`)
	numbers  = regexp.MustCompile(`(?:failures|errors)=(\d+)`)
	goPassed = regexp.MustCompile(`^ok  \t\S+\t.*$`)
	noTests  = regexp.MustCompile(`(?i)\bno tests? (?:files? )?(?:ran|found|were executed|to run|files?\])|` +
		`^collected 0 items|^running \d+ tests?$|` +
		`^1\.\.0\b|^Error: No test files found|^No tests found`)
)

// passing are the lines that name a test which passed. Groups: g what groups it, n its name.
var passing = []*regexp.Regexp{
	regexp.MustCompile(`^(?P<n>ok)  \t(?P<g>\S+)\t`),                        // a Go package
	regexp.MustCompile(`^\s*--- PASS: (?P<n>\S+) \(`),                       // go test -v
	regexp.MustCompile(`^test (?P<n>\S.*?)(?: - should panic)? \.\.\. ok$`), // cargo
	regexp.MustCompile(`^(?P<g>[^\s:]+\.py)::(?P<n>\S.*?) PASSED\b`),        // pytest -v
	regexp.MustCompile(`^(?P<n>\w+) \((?P<g>[\w.]+)\)(?:\s.*)? \.\.\. ok$`), // unittest -v
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
