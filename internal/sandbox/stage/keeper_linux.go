package stage

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// keeper starts the command, listens to the parent, watches the memory, and ends everything that the command started.
type keeper struct {
	config *Config
	// greedy reports whether the command was killed for its memory.
	greedy atomic.Bool

	mu sync.Mutex
	// child is the command's process, 0 before it is started and -1 when it must not be any more.
	child int
}

// newKeeper is called before the calling thread is restricted: the Go runtime runs what it starts here on threads of their own.
func newKeeper(c *Config) *keeper {
	warm()
	k := &keeper{config: c}
	go k.listen()
	if c.Limits.Memory > 0 {
		go k.watch()
	}
	return k
}

// spare is how many threads are made before processes are bounded: the Go runtime cannot go on when it needs one and gets none.
const spare = 8

// warm makes the spare threads, which the runtime keeps.
func warm() {
	var ready, gone sync.WaitGroup
	all := make(chan struct{})
	ready.Add(spare)
	for range spare {
		gone.Go(func() {
			runtime.LockOSThread()
			defer runtime.UnlockOSThread()
			ready.Done()
			<-all
		})
	}
	ready.Wait()
	close(all)
	gone.Wait()
}

// begin starts the command on the calling thread, whose restrictions it inherits. child is 0 where it could not be started, and
// the report reports why.
func (k *keeper) begin() (child int, r Report) {
	c := k.config
	if err := unix.Chdir(c.Dir); err != nil {
		return 0, Report{Error: fmt.Sprintf("enter the directory %s: %v", c.Dir, err)}
	}
	program, found := Program(c.Args[0], c.Dir, c.Env)
	if !found {
		return 0, Report{Missing: true}
	}
	child, err := k.start(program)
	if err != nil {
		return 0, Report{Error: err.Error()}
	}
	return child, Report{}
}

// end returns when the command and all it started are gone, or, as process 1, will be gone with this process.
func (k *keeper) end(child int) Report {
	say(Report{Began: true})
	status := await(child)
	if k.config.Root == nil {
		collectAll()
	}
	r := Report{Exit: status.ExitStatus(), Memory: k.greedy.Load()}
	if status.Signaled() {
		r.Exit, r.Signal = -1, status.Signal().String()
	}
	return r
}

func (k *keeper) start(program string) (int, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.child < 0 {
		return 0, errors.New("killed before it began")
	}
	attr := &syscall.ProcAttr{Env: k.config.Env, Files: []uintptr{0, 1, 2}, Sys: &syscall.SysProcAttr{Setsid: true}}
	for tries := 0; ; tries++ {
		pid, err := syscall.ForkExec(program, k.config.Args, attr)
		switch {
		case err == nil:
			k.child = pid
			return pid, nil
		case !errors.Is(err, syscall.ETXTBSY) || tries == busyTries:
			return 0, err
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(busyWait)}, nil)
	}
}

// A program that was written a moment ago may still be open for writing in a process that was forked in that moment, until it
// becomes another program.
const (
	busyTries = 20
	busyWait  = 5 * time.Millisecond
)

// await collects every process that ends until the command itself has. A process that asks to be traced by its parent goes on
// without.
func await(child int) syscall.WaitStatus {
	for {
		var status syscall.WaitStatus
		pid, err := syscall.Wait4(-1, &status, 0, nil)
		if err == nil && status.Stopped() {
			_ = unix.PtraceDetach(pid) // one that has ended meanwhile is collected next
			continue
		}
		if pid == child || err != nil && !errors.Is(err, syscall.EINTR) {
			return status
		}
	}
}

// listen obeys the parent. It is the parent's end that closes the socket, when it has heard the report or has died.
func (k *keeper) listen() {
	order := make([]byte, 1)
	for {
		n, err := unix.Read(ControlFD, order)
		switch {
		case errors.Is(err, unix.EINTR):
		case n == 1 && order[0] == Terminate:
			k.signalGroup(unix.SIGTERM)
		default:
			k.killAll()
		}
		if n == 0 { // no process receives a report
			k.killAll()
			collectAll()
			finish(Report{})
		}
	}
}

func (k *keeper) signalGroup(s unix.Signal) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.child > 0 {
		_ = unix.Kill(-k.child, s) // a group that is gone needs no signal
	}
}

// killAll keeps the command from starting, or kills it and all that it started. As process 1 that is everybody.
func (k *keeper) killAll() {
	k.mu.Lock()
	started := k.child
	k.child = -1
	k.mu.Unlock()
	switch {
	case started == 0:
	case os.Getpid() == 1: // everybody in the namespace; anywhere else it would be everybody on the machine
		_ = unix.Kill(-1, unix.SIGKILL) // the only possible error is that no process is left
	default:
		killDescendants()
	}
}

// CollectTime bounds how long the processes of a command are hunted that fork while they are hunted.
const CollectTime = 10 * time.Second

// collectAll kills and collects the descendants until there are none: an orphan becomes a child of this process.
func collectAll() {
	for end := time.Now().Add(CollectTime); time.Now().Before(end); {
		killDescendants()
		for {
			pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil)
			if errors.Is(err, syscall.ECHILD) {
				return
			}
			if pid <= 0 {
				break
			}
		}
	}
}

func killDescendants() {
	for _, pid := range descendants(os.Getpid()) {
		_ = unix.Kill(pid, unix.SIGKILL) // it may have ended already
	}
}
