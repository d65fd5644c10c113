package sandbox

import (
	"errors"
	"os"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// Ahead starts the stage of the next command while the one before runs: see Command.More. The stage waits in namespaces of its
// own with nothing of any command. What it executes, with environment, limits and mounts, arrives before it gives up its
// rights; then it is a stage like any other, of one command.
//
// An Ahead belongs to one attempt, role and audience. The caller makes one for each, puts it into their places, and closes it
// before the keeper of its commands. The zero value is ready; nil starts none. It is safe for concurrent use.
type Ahead struct {
	mu     sync.Mutex
	ready  *waiting
	closed bool
	starts sync.WaitGroup
}

// waiting is a stage that waits for its command, in namespaces below those of its keeper where it has one.
type waiting struct {
	stage   *os.Process
	control *os.File
	keeper  *Keeper
}

// startWaiting starts a stage that waits.
func startWaiting(l Level, k *Keeper) (w *waiting, err error) {
	text, err := inMemory(&stage.Config{Ahead: true})
	if err != nil {
		return nil, err
	}
	defer text.Close() // the stage has its own copy
	w = &waiting{keeper: k}
	w.control, w.stage, err = startControlled(l, k, nil, streams{}, text, nil)
	return w, err
}

// follow starts a stage once the command before it runs.
func (a *Ahead) follow(l Level, k *Keeper, began <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed {
		return
	}
	a.starts.Go(func() {
		<-began
		a.start(l, k)
	})
}

// start leaves it to the next command to report why no stage can be started: then it starts one itself.
func (a *Ahead) start(l Level, k *Keeper) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.closed || a.ready != nil {
		return
	}
	if w, err := startWaiting(l, k); err == nil {
		a.ready = w
	}
}

// take returns the stage that waits for a command with the given keeper; nil where there is none. One that sees the views of
// another keeper is ended.
func (a *Ahead) take(k *Keeper) *waiting {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	w := a.ready
	if a.ready = nil; w != nil && w.keeper != k {
		_ = w.end() // it has carried nothing out
		return nil
	}
	return w
}

// Close ends the stage that waits. No other one is started afterwards. It may be called often.
func (a *Ahead) Close() error {
	if a == nil {
		return nil
	}
	a.mu.Lock()
	a.closed = true
	w := a.ready
	a.ready = nil
	a.mu.Unlock()
	a.starts.Wait()
	if w == nil {
		return nil
	}
	return w.end()
}

// end ends the stage.
func (w *waiting) end() error {
	err := w.control.Close()
	_ = w.stage.Kill() // it may have ended already
	_, waited := w.stage.Wait()
	return errors.Join(err, waited)
}

// handTime bounds how long a stage that waits takes to answer. One that is late is replaced.
const handTime = 2 * time.Second

// hand gives the stage what its command has: the standard streams, the config, and what follows in a stage's descriptors. After
// an error the command has not begun and will not.
func (w *waiting) hand(files []*os.File) error {
	raw, err := w.control.SyscallConn()
	if err != nil {
		return err
	}
	var sent error
	err = raw.Control(func(fd uintptr) {
		sent = unix.Sendmsg(int(fd), []byte{0}, unix.UnixRights(numbers(files)...), nil, unix.MSG_NOSIGNAL)
	})
	if err = errors.Join(err, sent); err == nil {
		err = w.control.SetReadDeadline(time.Now().Add(handTime))
	}
	answer := []byte{1} // which a report of a stage that failed would begin with
	if err == nil {
		_, err = w.control.Read(answer) // else what was sent may lie there, and no process takes it
	}
	if err == nil && answer[0] != 0 {
		err = unix.EPROTO
	}
	if err == nil {
		err = w.control.SetReadDeadline(time.Time{})
	}
	if err == nil {
		_, err = w.control.Write([]byte{stage.Begin})
	}
	return err
}
