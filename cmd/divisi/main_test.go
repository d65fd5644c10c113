package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"
)

// TestMain makes this test binary double as the program: scripts start it as `divisi`, in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(leakTested{m}, map[string]func(){"divisi": main})
}

// leakTested fails the package when a server that a script started is still there at the end.
type leakTested struct{ m *testing.M }

func (l leakTested) Run() int {
	code := l.m.Run()
	// The worker of opencensus is started by an init function of a dependency of the model client and never ends.
	if err := goleak.Find(goleak.IgnoreTopFunction("go.opencensus.io/stats/view.(*worker).start")); err != nil && code == 0 {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}
