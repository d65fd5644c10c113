package main

import (
	"context"
	"path/filepath"

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
