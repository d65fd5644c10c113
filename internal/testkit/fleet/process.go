package fleet

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// Process is a server or a worker that can be killed and begun again.
type Process struct {
	Name, Dir string // Dir has its log
	Program   string
	Env, Args []string

	mu   sync.Mutex // guards what follows
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
	down bool          // it is not to run now
}

// Log is the file with what it prints.
func (p *Process) Log() string { return filepath.Join(p.Dir, p.Name+".log") }

// Start begins it; what it prints is appended to a file.
func (p *Process) Start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.begin()
}

// Revive begins it again where it has ended by itself.
func (p *Process) Revive() (again bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.down || p.running() {
		return false, nil
	}
	return true, p.begin()
}

func (p *Process) begin() error {
	out, err := os.OpenFile(p.Log(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	p.down = false
	p.cmd = exec.Command(p.Program, p.Args...) //nolint:noctx // it is ended by end
	p.cmd.Dir, p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = p.Dir, p.Env, out, out
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	err = errors.Join(p.cmd.Start(), out.Close())
	if err != nil {
		return fmt.Errorf("start %s: %w", p.Name, err)
	}
	cmd, done := p.cmd, make(chan struct{})
	p.done = done
	go func() { defer close(done); _ = cmd.Wait() }() // how it ended is in its log
	return nil
}

// PID is the id of the process that was begun last.
func (p *Process) PID() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cmd.Process.Pid
}

func (p *Process) running() bool {
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

// Signal sends it a signal, if it runs.
func (p *Process) Signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.send(s)
}

func (p *Process) send(s syscall.Signal) {
	if p.running() {
		_ = p.cmd.Process.Signal(s) // it may just have ended
	}
}

// Kill ends it at once.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.down = true
	if p.running() {
		p.send(syscall.SIGKILL)
		<-p.done
	}
}

// End ends it in order; an error where that takes too long.
func (p *Process) End(patience time.Duration) error {
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
		p.Signal(syscall.SIGQUIT) // its goroutines are in its log
		select {
		case <-done:
		case <-time.After(5 * time.Second):
			p.Kill()
		}
		return fmt.Errorf("%s did not end within %s", p.Name, patience)
	}
}
