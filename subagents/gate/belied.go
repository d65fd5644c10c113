package gate

import (
	"maps"
	"strings"

	"divisi/internal/lazyregexp"
)

// reported are the beginnings of signatures in a report of tests. A pipe (go test | tee log) and || true take its exit code.
var reported = []string{"build: ", "test: ", "suite: ", "bail out: ", "plan: "}

// belie reports whether the output of a gate that exits with 0 has failed tests in the report of a runner; nothing else of what
// it printed is a failure then. In output without structure the runner's own count decides: what a test prints, or what failed
// once and then passed, looks alike.
func (f *findings) belie() bool {
	maps.DeleteFunc(f.signatures, func(signature string, _ struct{}) bool {
		for _, kind := range reported {
			if strings.HasPrefix(signature, kind) {
				return false
			}
		}
		return true
	})
	for _, test := range f.ran.List() {
		delete(f.signatures, "test: "+test.String()) // it ran again, and passed
	}
	if f.text && f.tests == f.passed && !f.failed {
		clear(f.signatures)
	}
	return len(f.signatures) > 0
}

// goEnded is the last line of a go test that failed.
var goEnded = lazyregexp.New(`^FAIL$`)
