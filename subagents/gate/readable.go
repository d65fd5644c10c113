package gate

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
)

// Readable returns a gate's output for a person. The events of "go test -json" become the lines of "go test": what was built,
// what failed with its output, and how many packages passed. Another output stays as it is.
func Readable(output string) string {
	r := goTestText{packages: map[string][]goEvent{}}
	for line := range strings.Lines(output) {
		r.line(line)
	}
	if !r.events {
		return output
	}
	return r.text()
}

// goTestText collects what a person needs of the events of "go test -json".
type goTestText struct {
	out      strings.Builder
	events   bool
	passed   int
	order    []string             // packages that have not passed
	packages map[string][]goEvent // their output, without that of tests that passed
}

func (r *goTestText) line(line string) {
	var e goEvent
	if !strings.HasPrefix(line, "{") || !strings.Contains(line, `"Action":"`) || json.Unmarshal([]byte(line), &e) != nil {
		r.out.WriteString(line)
		return
	}
	switch e.Action {
	case "build-output":
		r.out.WriteString(e.Output)
	case "output":
		r.begin(e.Package)
		if !strings.HasPrefix(e.Output, "=== ") {
			r.packages[e.Package] = append(r.packages[e.Package], e)
		}
	case "fail":
		r.keep(e)
	case "pass", "skip":
		r.drop(e)
	case "start", "run", "pause", "cont", "bench", "attr", "build-fail":
	default: // a line of another program
		r.out.WriteString(line)
		return
	}
	r.events = true
}

func (r *goTestText) begin(pkg string) {
	if _, ok := r.packages[pkg]; !ok {
		r.packages[pkg] = nil
		r.order = append(r.order, pkg)
	}
}

// keep keeps the output of a test that failed, also where it runs again and passes.
func (r *goTestText) keep(e goEvent) {
	for i := range r.packages[e.Package] {
		if o := &r.packages[e.Package][i]; o.Test == e.Test {
			o.Action = e.Action
		}
	}
}

// drop forgets the output of a test, or of a package, that passed or was skipped.
func (r *goTestText) drop(e goEvent) {
	if e.Test != "" {
		same := func(o goEvent) bool { return o.Test == e.Test && o.Action == "output" }
		r.packages[e.Package] = slices.DeleteFunc(r.packages[e.Package], same)
		return
	}
	r.passed++
	delete(r.packages, e.Package)
	r.order = slices.DeleteFunc(r.order, func(pkg string) bool { return pkg == e.Package })
}

func (r *goTestText) text() string {
	for _, pkg := range r.order {
		for _, e := range r.packages[pkg] {
			r.out.WriteString(e.Output)
		}
	}
	if r.passed > 0 {
		fmt.Fprintf(&r.out, "%s passed, or had no tests to run\n", text.Count(r.passed, "package"))
	}
	return r.out.String()
}
