package script

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/subagents/mutant"
)

// reported is a test in a report: its file, "" where that is not told, and its name as plainName makes it.
type reported struct {
	file, name string
	outcome    mutant.Outcome
}

// jestReport is what jest and vitest write.
type jestReport struct {
	Results []struct {
		Name  string `json:"name"`
		Tests []struct {
			Above    []string `json:"ancestorTitles"`
			Title    string   `json:"title"`
			Status   string   `json:"status"`
			Messages []string `json:"failureMessages"`
		} `json:"assertionResults"`
	} `json:"testResults"`
}

// asserting matches what the message of an assertion has, of whatever library.
var asserting = lazyregexp.New(`(?i)assert|\bexpect|snapshot|\boperator:|\bdifference:|\bshould\b`)

// failureOf tells an assertion that does not hold from another error.
func failureOf(message string) mutant.Outcome {
	if said, _, _ := strings.Cut(message, "\n    at "); asserting.MatchString(said) {
		return mutant.Failed
	}
	return mutant.Errored
}

// readReport reads the report of jest or vitest, or the Test Anything Protocol.
func readReport(data []byte) (all []reported) {
	if !bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
		return readTAP(string(data))
	}
	var report jestReport
	if json.Unmarshal(data, &report) != nil {
		return nil // it breaks off
	}
	for _, r := range report.Results {
		for _, t := range r.Tests {
			outcome := mutant.Skipped
			switch t.Status {
			case "passed":
				outcome = mutant.Passed
			case "failed":
				outcome = failureOf(strings.Join(t.Messages, "\n"))
			}
			all = append(all, reported{r.Name, plainName(strings.Join(append(t.Above, t.Title), between)), outcome})
		}
	}
	return all
}

var (
	tapLine  = lazyregexp.New(`^( *)(not )?ok\b(?: +\d+)?(?: *-)? *(.*?)(?: +# *(?i:(todo|skip)\S*).*| +# time ?= ?\S+)?$`)
	tapBegin = lazyregexp.New(`^( *)# (?:(Subtest: ))?(.*)$`)
)

// tap is the state of a reader of the Test Anything Protocol. tape gives the name of a test in a comment before its assertions.
type tap struct {
	all     []reported
	above   []string
	comment string
	// failing is how many of the last ones have just failed, inner reports whether an assertion did in what is in a test.
	failing int
	inner   bool
}

// readTAP reads tests, those of suites by all their names.
func readTAP(text string) []reported {
	var r tap
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if m := tapBegin.FindStringSubmatch(line); m != nil {
			if m[2] != "" {
				r.above = append(r.above[:min(len(m[1])/4, len(r.above))], m[3])
			} else if m[1] == "" {
				r.comment = m[3]
			}
		} else if m := tapLine.FindStringSubmatch(line); m != nil {
			r.result(m)
		} else if r.failing > 0 && asserting.MatchString(line) {
			for i := range r.failing {
				r.all[len(r.all)-1-i].outcome = mutant.Failed
			}
			r.inner = true
		}
	}
	return r.all
}

// result reads a line of a test: its blanks, whether it failed, its name, and what it is told to be.
func (r *tap) result(m []string) {
	outcome, whole := mutant.Passed, m[1] == ""
	switch {
	case m[4] != "":
		outcome = mutant.Skipped
	case m[2] != "" && whole && r.inner: // by an assertion in it
		outcome = mutant.Failed
	case m[2] != "":
		outcome = mutant.Errored
	}
	depth, had := min(len(m[1])/4, len(r.above)), len(r.all)
	r.all = append(r.all, reported{"", plainName(strings.Join(append(r.above[:depth:depth], m[3]), between)), outcome})
	if whole && r.comment != "" {
		r.all = append(r.all, reported{"", plainName(r.comment), outcome})
	}
	if r.inner, r.failing = r.inner && !whole, 0; outcome == mutant.Errored {
		r.failing = len(r.all) - had
	}
}

// worse are outcomes in the order in which one counts for a test that ran several times.
var worse = map[mutant.Outcome]int{mutant.Failed: 5, mutant.Errored: 4, mutant.Broken: 3, mutant.Passed: 2, mutant.Skipped: 1}

// outcomesOf are the outcomes of tests by those in a report.
func outcomesOf(report []reported, tests []mutant.Test) map[mutant.Test]mutant.Outcome {
	ran := map[mutant.Test]mutant.Outcome{}
	names := map[string][]reported{}
	for _, r := range report {
		names[r.name] = append(names[r.name], r)
	}
	for _, t := range tests {
		found := names[plainName(t.Name)]
		if pattern := namePattern(t.Name); len(found) == 0 {
			whole, err := regexp.Compile(`^(?:.* )?` + plainName(pattern) + `$`)
			for _, r := range report {
				if err == nil && whole.MatchString(r.name) {
					found = append(found, r)
				}
			}
		}
		for _, r := range found {
			if (r.file == "" || strings.HasSuffix(r.file, "/"+t.File) || r.file == t.File) && worse[r.outcome] > worse[ran[t]] {
				ran[t] = r.outcome
			}
		}
	}
	return ran
}
