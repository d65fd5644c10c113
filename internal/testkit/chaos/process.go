package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a server or a worker that can be killed and begun again.
type process struct {
	name, dir string // dir is the round's
	divisi    string
	env, args []string

	mu   sync.Mutex // guards what follows
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	down bool          // it is not to run now
}

// log is the file with what it prints.
func (p *process) log() string { return filepath.Join(p.dir, p.name+".log") }

// start begins it; what it prints is appended to a file.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin()
}

// revive begins it again where it has ended by itself.
func (p *process) revive() (again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down || p.running() {
		return false, nil
	}
	return true, p.begin()
}

func (p *process) begin() error {
	out, err := os.OpenFile(p.log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.down = false
	p.cmd = exec.Command(p.divisi, p.args...) //nolint:noctx // it is ended by end
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.dir, p.env, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(p.cmd.Start(), out.Close())
	if err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	cmd, done := p.cmd, make(chan struct{})
	p.done = done
	go func() { defer close(done); _ = cmd.Wait() }() // how it ended is in its log
	return nil
}

func (p *process) running() bool {
	if p.done == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(s)
}

func (p *process) send(s syscall.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(s) // it may just have ended
	}
}

// kill ends it at once.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	if p.running() {
		p.send(syscall.SIGKILL)
		<-p.done
	}
}

// end ends it in order; an error where that takes too long.
func (p *process) end(patience time.Duration) error {
	p.mu.Lock()
	p.down = true
	done := p.done
	p.send(syscall.SIGCONT)
	p.send(syscall.SIGTERM)
	p.mu.Unlock()
	if done == nil {
		return nil
	}
	select {
	case <-done:
		return nil
	case <-time.After(patience):
		p.signal(syscall.SIGQUIT) // its goroutines are in its log
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			p.kill()
		}
		return fmt.Errorf("%s did not end within %s", p.name, patience)
	}
}

// commandTime bounds a command of a person.
const commandTime = 40 * time.Second

// command runs divisi to its end and returns what it prints.
func (r *round) command(ctx context.Context, state string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, commandTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, r.divisi, append(args, "--state-dir", filepath.Join(r.dir, state), "--output", "json")...)
	cmd.Env, cmd.Dir = r.env, r.dir
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("divisi %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// sweep kills what killed processes of the round have left.
func sweep(dir string) {
	found, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, path := range found {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
		}
	}
}
