package acceptance

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"
)

// BenchmarkCheck prints what the checks of a refactor of 100 files cost: 60 files of code and 40 of tests, about 150 lines each,
// in which a symbol is renamed. The ratio is to reading all lines of the files once.
func BenchmarkCheck(b *testing.B) {
	var more strings.Builder
	for i := range 20 {
		fmt.Fprintf(&more, "\nfunc TestMore%d(t *testing.T) {\n\tt.Parallel()\n\trequire.Equal(t, 1, one())\n\trequire.NoError(t, two())\n}\n", i)
	}
	code := strings.ReplaceAll(strings.ReplaceAll(more.String(), "t.Parallel", "work"), "require", "other") + "\nfunc one() int { return 1 }\n"
	p := &Patch{Task: &spec.Task{Brief: "Rename one to single."}}
	for i := range 100 {
		name, before := fmt.Sprintf("f%02d.go", i), "package a\n"+code
		if i%5 < 2 {
			name, before = fmt.Sprintf("f%02d_test.go", i), goTests+more.String()
		}
		after := strings.Replace(strings.Replace(before, "one()", "single()", 1), "TestMore9(t *testing.T) {", "TestMore9(t *testing.T) {\n\tt.Helper()", 1)
		p.Changes = append(p.Changes, Change{Path: name, Before: []byte(before), After: []byte(after)})
	}
	if v := Check(p); v.Decision != Pass {
		b.Fatal(v.Evidence())
	}
	// The cheapest of several rounds in turn: what the machine does besides falls on both.
	checks, lines := time.Hour, time.Hour
	for b.Loop() {
		for range 10 {
			began := time.Now()
			Check(p)
			checks = min(checks, time.Since(began))
			began = time.Now()
			read := 0
			for _, c := range p.Changes {
				for _, content := range [][]byte{c.Before, c.After} {
					read += len((&file{}).lines(strings.Split(string(content), "\n"), 0))
				}
			}
			if lines = min(lines, time.Since(began)); read == 0 {
				b.Fatal("no lines")
			}
		}
	}
	b.ReportMetric(float64(checks)/float64(time.Millisecond), "ms/patch-of-100-files")
	b.ReportMetric(float64(checks)/float64(lines), "ratio")
}
