// Package fleet starts on one machine the processes of many: a server, workers and commands of people, each with a state
// directory of its own. They can be killed, stopped and cut off.
package fleet

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"divisi/bus/member"
	"divisi/configs"
)

// Fleet is a directory with the state of all processes, and the program that they run.
type Fleet struct {
	Dir, Program string
	Env          []string
}

// Hub is the server's name for the members.
const Hub = "hub"

// Serve is the server's state directory.
const Serve = "serve"

// New is the fleet of a directory. Its processes find programs as this one does, and see nothing else of its environment.
func New(dir, program string) *Fleet {
	env := []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(dir, "home"), "TMPDIR=" + filepath.Join(dir, "tmp")}
	return &Fleet{Dir: dir, Program: program, Env: env}
}

// Make makes the directory again.
func (f *Fleet) Make() error {
	if err := os.RemoveAll(f.Dir); err != nil {
		return err
	}
	for _, d := range []string{"home", "tmp"} {
		if err := os.MkdirAll(filepath.Join(f.Dir, d), 0o755); err != nil {
			return err
		}
	}
	return nil
}

// Process is a process with a state directory of its name, and a home of its own. It is not started yet.
func (f *Fleet) Process(name string, args ...string) *Process {
	args = append(args, "--state-dir", filepath.Join(f.Dir, name), "--log-level", "info")
	env := append(slices.Clone(f.Env), "HOME="+filepath.Join(f.Dir, "home", name))
	return &Process{Name: name, Dir: f.Dir, Program: f.Program, Env: env, Args: args}
}

// Permit writes what the owner of a worker's machine permits: its setups have the network, which they do not use.
func (f *Fleet) Permit(name string) error {
	dir := filepath.Join(f.Dir, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, configs.PolicyFile), []byte("network: [registry.example]\n"), 0o600)
}

// CommandTime bounds a command of a person.
const CommandTime = 40 * time.Second

// Command runs the program to its end in a state directory and returns what it prints.
func (f *Fleet) Command(ctx context.Context, state string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, CommandTime)
	defer cancel()
	return f.Run(ctx, state, args...)
}

// Run is Command without a bound.
func (f *Fleet) Run(ctx context.Context, state string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, f.Program, append(args, "--state-dir", filepath.Join(f.Dir, state), "--output", "json")...)
	cmd.Env, cmd.Dir = f.Env, f.Dir
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return out.Bytes(), fmt.Errorf("divisi %s: %w: %s", args[0], err, strings.TrimSpace(said.String()))
	}
	return out.Bytes(), nil
}

// Token has the server make a token for a member that reaches it at an address, and returns the file with it.
func (f *Fleet) Token(ctx context.Context, role, name, addr string) (string, error) {
	var data []byte
	err := Again(ctx, 20*time.Second, func() (err error) { // the server may still be starting
		data, err = f.Command(ctx, Serve, "server", "token", "--role", role, "--name", name)
		return err
	})
	var reply struct {
		Token string `json:"token"`
	}
	if err == nil {
		err = json.Unmarshal(data, &reply)
	}
	if err != nil {
		return "", err
	}
	token, err := member.ParseToken(reply.Token)
	if err != nil {
		return "", err
	}
	token.URL = "tls://" + addr
	file := filepath.Join(f.Dir, name+".token")
	return file, os.WriteFile(file, []byte(token.String()), 0o600)
}

// Join makes a state directory a member of the server, which it reaches at an address.
func (f *Fleet) Join(ctx context.Context, role, name, addr string) error {
	file, err := f.Token(ctx, role, name, addr)
	if err != nil {
		return err
	}
	_, err = f.Command(ctx, name, "server", "join", file, "--as", Hub, "--name", name)
	return err
}

// Serves waits until a process reports that it serves.
func Serves(ctx context.Context, p *Process) error {
	return Again(ctx, CommandTime, func() error {
		said, err := os.ReadFile(p.Log())
		if err == nil && !strings.Contains(string(said), "serv") {
			err = fmt.Errorf("%s does not serve yet: %s", p.Name, said)
		}
		return err
	})
}

// Again does something until it succeeds, for a time.
func Again(ctx context.Context, patience time.Duration, do func() error) error {
	for end := time.Now().Add(patience); ; {
		err := do()
		if err == nil || time.Now().After(end) || ctx.Err() != nil {
			return err
		}
		select {
		case <-time.After(200 * time.Millisecond):
		case <-ctx.Done():
		}
	}
}

// Sweep kills what killed processes have left.
func (f *Fleet) Sweep() {
	found, _ := filepath.Glob("/proc/[0-9]*/environ") // the pattern is valid
	for _, path := range found {
		env, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(env, []byte(f.Dir+"/")) {
			continue
		}
		if pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path))); err == nil && pid != os.Getpid() {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may just have ended
		}
	}
}

// FreeAddr is an address of this machine at which nothing listens.
func FreeAddr(ctx context.Context) (string, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}
