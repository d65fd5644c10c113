//go:build !linux

package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"

	"divisi/internal/sandbox/stage"
)

// probe reports that only Linux confines.
func probe() Level {
	why := "Divisi confines commands on Linux only, not on " + runtime.GOOS +
		", and cannot end processes there that a command left behind"
	advice := "Run Divisi in a virtual machine with Linux, or in a container."
	var l Level
	for _, name := range []string{Namespaces, Landlock, Seccomp, OwnUser} {
		l.layers = append(l.layers, Protection{Name: name, Why: why, Advice: advice})
	}
	return l
}

// process is a command that nothing confines.
type process struct {
	cmd  *exec.Cmd
	over chan struct{}
	err  error
}

// find is stage.Program with the names of files of this system.
func (c Command) find() (string, bool) {
	name, dirs := c.Args[0], filepath.SplitList(stage.Lookup(c.Env, "PATH"))
	if strings.ContainsRune(name, '/') {
		dirs = []string{c.Dir}
	}
	for _, dir := range dirs {
		file := name
		if !filepath.IsAbs(name) {
			file = filepath.Join(dir, name)
		}
		if program, err := exec.LookPath(file); err == nil && filepath.IsAbs(dir) {
			return program, true
		}
	}
	return "", false
}

func startProcess(_ Level, c Command, std streams) (*process, error) {
	program, found := c.find()
	if !found {
		return nil, c.missing()
	}
	c, err := c.withGitConfig(Probe())
	if err != nil {
		return nil, err
	}
	p := &process{over: make(chan struct{}), cmd: &exec.Cmd{
		Path: program, Args: c.Args, Dir: c.Dir, Env: c.withUsersProxies().environment(c.Place),
		Stdout: std.out, Stderr: std.err, WaitDelay: drainWait,
	}}
	if std.in != nil {
		p.cmd.Stdin = std.in
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go func() {
		defer close(p.over)
		p.err = p.cmd.Wait()
	}()
	return p, nil
}

// begun has nothing to wait for: what could not be started was told.
func (p *process) begun() error { return nil }

func (p *process) ended() <-chan struct{} { return p.over }

// terminate does what there is to do: not every system can ask a process to end.
func (p *process) terminate() { p.kill() }
func (p *process) kill()      { _ = p.cmd.Process.Kill() } // it may have ended in this moment

// watchDisk bounds nothing here.
func (p *process) watchDisk(context.Context) (over <-chan *Excess, end func()) { return nil, func() {} }

func (p *process) wait(out *Output) error {
	<-p.over
	state := p.cmd.ProcessState
	if state == nil {
		return errors.Join(errors.New("the process was lost"), p.err)
	}
	out.ExitCode = state.ExitCode()
	if out.ExitCode < 0 {
		out.Signal = fmt.Sprint(state)
	}
	return nil
}

// What is not confined is not kept track of either.
func shield() {}

func killMarked(...string) int { return 0 }
