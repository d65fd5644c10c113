package main

import (
	"fmt"
	"os"
	"strconv"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"go.uber.org/goleak"

	"divisi/internal/model"
	"divisi/orchestrator/fit"
	"divisi/subagents/wire"
)

// protocolEnv has a process that a script starts speak another version of the protocol.
const protocolEnv = "DIVISI_TEST_PROTOCOL"

// policyEnv has a process that a script starts read another file of an organisation.
const policyEnv = "DIVISI_TEST_POLICY"

// shortWaitEnv has a process that a script starts take quotas for those of hours that are used up for longer than that.
const shortWaitEnv = "DIVISI_TEST_SHORT_WAIT"

// TestMain makes this test binary double as the program: scripts start it as `divisi`, in a process of its own.
func TestMain(m *testing.M) {
	testscript.Main(leakTested{m}, map[string]func(){"divisi": func() {
		if other, err := strconv.Atoi(os.Getenv(protocolEnv)); err == nil {
			wire.Protocol = other
		}
		if short, err := time.ParseDuration(os.Getenv(shortWaitEnv)); err == nil {
			model.ShortWait = short
		}
		if file := os.Getenv(policyEnv); file != "" {
			fit.OrganisationFile = file
		}
		main()
	}})
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
