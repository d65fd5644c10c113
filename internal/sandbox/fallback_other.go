//go:build !linux

package sandbox

import (
	"errors"
	"os"
	"os/exec"
	"runtime"
)

// landlockABI says that only Linux confines; Probe hands it on to people.
func landlockABI() (int, string) {
	return 0, "Divisi confines commands on Linux only, not on " + runtime.GOOS +
		", and cannot end processes there that a command left behind"
}

type ruleset struct{}

func newRuleset([]string) (*ruleset, error) { return nil, errors.New("no Landlock on " + runtime.GOOS) }
func (*ruleset) close()                     {}
func (*ruleset) restrictThread() error      { return errors.New("no Landlock on " + runtime.GOOS) }
func noNewPrivileges() error                { return nil }
func mainThread() bool                      { return false }
func isolate(*exec.Cmd)                     {}

// awaitExit collects the status too; Run finds it in the command's ProcessState.
func awaitExit(cmd *exec.Cmd) { _ = cmd.Wait() }

// A process that has ended already needs no signal: the error says nothing else.
func terminateGroup(p *os.Process) { _ = p.Kill() }
func killGroup(p *os.Process)      { _ = p.Kill() }

func signalName(*os.ProcessState) string { return "" }
func killMarked(string, string) int      { return 0 }

// What is not confined is not kept track of either.
func shield()                                          {}
func unlist(int)                                       {}
func killOrphans(string)                               {}
func listed(_ string, start func() (int, error)) error { _, err := start(); return err }
