package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"time"

	"divisi/internal/testkit/geminitest"
)

// agents work at the same time.
const agents = 8

// service is the model's, on a port of its own.
type service struct {
	url    string
	api    *geminitest.Server
	server *http.Server
	done   chan error
}

func (t *trial) serve(ctx context.Context, h *harbour) (*service, error) {
	m := &model{harbour: h, pause: min(t.pace*agents/time.Duration(t.tasks*turns), 30*time.Second)}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen for the model: %w", err)
	}
	api := geminitest.New(geminitest.Options{Handle: m.answer})
	s := &service{url: "http://" + l.Addr().String(), api: api, done: make(chan error, 1)}
	s.server = &http.Server{Handler: s.api, ReadHeaderTimeout: 10 * time.Second}
	go func() { s.done <- s.server.Serve(l) }()
	return s, nil
}

func (s *service) close() error {
	s.api.Close()
	err := s.server.Close()
	if served := <-s.done; !errors.Is(served, http.ErrServerClosed) {
		err = errors.Join(err, served)
	}
	return err
}

// command is divisi, which asks the simulated model.
func (t *trial) command(url string, args ...string) *exec.Cmd {
	cmd := exec.Command(t.divisi, append(args, "--state-dir", t.path("state"))...) //nolint:noctx // it is interrupted, not killed
	env := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "GOOGLE_API_KEY=") })
	cmd.Env, cmd.Dir = append(env, "GOOGLE_GEMINI_BASE_URL="+url, "GEMINI_API_KEY=simulated"), t.dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C is for this program, which ends the others
	return cmd
}

// process is a divisi that was started.
type process struct {
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended
}

// end interrupts a process, and waits for it.
func (p *process) end() {
	_ = p.cmd.Process.Signal(os.Interrupt) // it may just have ended
	select {
	case <-p.done:
	case <-time.After(time.Minute):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// watch starts the run and the page, until ctx ends.
func (t *trial) watch(ctx context.Context, out io.Writer, url string) error {
	run, id, err := t.startRun(ctx, url)
	if err != nil {
		return err
	}
	defer run.end()
	page, err := t.startPage(out, url, id)
	if err != nil {
		return err
	}
	defer page.end()
	fmt.Fprintf(out, "The run %s works on %d tasks. Ctrl-C ends it and the page, and prints the figures.\n", id, t.tasks)
	select {
	case <-ctx.Done():
		return nil
	case <-page.done:
		return errors.New("the page has ended: see page.log")
	case <-run.done:
	}
	if t.leave {
		return nil
	}
	fmt.Fprintln(out, "The run has ended; the page stays.")
	select {
	case <-ctx.Done():
	case <-page.done:
	}
	return nil
}

// startRun starts the run, and returns its id.
func (t *trial) startRun(ctx context.Context, url string) (*process, string, error) {
	args := []string{
		"run", "--plan", t.path("plan.yaml"), "--repo", t.path("harbour"), "--parallel", fmt.Sprint(agents), "--yes", "--wait",
		"--on-doubt", "ask", "--output", "json",
	}
	if t.review {
		args = append(args, "--review")
	}
	id := make(chan string, 1)
	p, err := t.start(url, "run", args, func(line string) {
		var e struct {
			Run string `json:"run"`
		}
		if json.Unmarshal([]byte(line), &e) == nil && e.Run != "" {
			select {
			case id <- e.Run:
			default: // it is known
			}
		}
	})
	if err != nil {
		return nil, "", err
	}
	select {
	case got := <-id:
		return p, got, os.WriteFile(t.path("run"), []byte(got), 0o600)
	case <-p.done:
		return nil, "", errors.New("the run did not begin: see run.log")
	case <-ctx.Done():
		p.end()
		return nil, "", ctx.Err()
	}
}

// startPage starts the page, which prints its address.
func (t *trial) startPage(out io.Writer, url, run string) (*process, error) {
	return t.start(url, "page", []string{"dashboard", run, "--addr", t.listen}, func(line string) { fmt.Fprintln(out, line) })
}

// start starts divisi: what it prints goes to a file, and line by line to a function.
func (t *trial) start(url, name string, args []string, line func(string)) (*process, error) {
	file, err := os.Create(t.path(name + ".log"))
	if err != nil {
		return nil, err
	}
	cmd := t.command(url, args...)
	cmd.Stderr = file
	stdout, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("start %s: %w", name, err), file.Close())
	}
	p := &process{cmd: cmd, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		defer file.Close()
		for lines := bufio.NewReader(stdout); ; {
			text, err := lines.ReadString('\n')
			if err != nil {
				break
			}
			fmt.Fprint(file, text)
			line(strings.TrimRight(text, "\n"))
		}
		_ = cmd.Wait() // how it ended is in its log
	}()
	return p, nil
}
