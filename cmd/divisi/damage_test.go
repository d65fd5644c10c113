package main

import (
	"context"
	"os"
	"path/filepath"
	"regexp"

	"github.com/rogpeppe/go-internal/testscript"

	"divisi/bus"
)

// appended: appended SUBJECT FILE appends the file to the log of the run RUN, as another program would.
func appended(ts *testscript.TestScript, _ bool, args []string) {
	ctx := context.Background()
	b, err := bus.Open(ctx, bus.Options{Dir: filepath.Join(ts.Getenv("STATE"), "runs", ts.Getenv("RUN"), "bus")})
	ts.Check(err)
	last := uint64(0)
	if m, err := b.Last(ctx, args[0]); err != nil {
		ts.Fatalf("look for the newest message on %s: %v", args[0], err)
	} else if m != nil {
		last = m.Pos
	}
	_, err = b.Append(ctx, args[0], []byte(ts.ReadFile(args[1])), last)
	ts.Check(err)
	ts.Check(b.Close(ctx))
}

var (
	formatOf  = regexp.MustCompile(`"v":[0-9]+`)
	programOf = regexp.MustCompile(`"program":"[^"]*"`)
)

// reformatted: reformatted V PROGRAM makes the log of the run RUN one of format V, which PROGRAM wrote; it has no objects.
func reformatted(ts *testscript.TestScript, _ bool, args []string) {
	ctx, dir := context.Background(), filepath.Join(ts.Getenv("STATE"), "runs", ts.Getenv("RUN"), "bus")
	from, err := bus.OpenFiles(dir, ts.Getenv("RUN"))
	ts.Check(err)
	made := filepath.Join(ts.MkAbs("."), "reformatted")
	to, err := bus.Open(ctx, bus.Options{Dir: made, Run: ts.Getenv("RUN")})
	ts.Check(err)
	last, first := map[string]uint64{}, true
	for m, err := range from.Read(ctx, bus.RunFilter(ts.Getenv("RUN")), 0) {
		ts.Check(err)
		if first {
			m.Data = formatOf.ReplaceAll(m.Data, []byte(`"v":`+args[0]))
			m.Data, first = programOf.ReplaceAll(m.Data, []byte(`"program":"`+args[1]+`"`)), false
		}
		last[m.Subject], err = to.Append(ctx, m.Subject, m.Data, last[m.Subject])
		ts.Check(err)
	}
	ts.Check(from.Close(ctx))
	ts.Check(to.Close(ctx))
	ts.Check(os.RemoveAll(dir))
	ts.Check(os.Rename(made, dir))
}
