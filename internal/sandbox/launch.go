package sandbox

import (
	"os/exec"
	"runtime"
)

// onOwnThread runs start on an operating system thread of its own, which prepare may restrict for good. The thread lives
// until the returned function is called, because the kernel ties a child's parent-death signal to the thread that started
// it; then it dies and takes its restrictions along. Other goroutines never run on it, and the Go runtime starts no thread
// from it.
func onOwnThread(prepare, start func() error) (release func(), err error) {
	started, done, gone := make(chan error), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		runtime.LockOSThread() // never unlocked: the thread ends with the goroutine
		if mainThread() {
			// The first thread cannot end and speaks for the whole process: hold it while another one does the work.
			defer runtime.UnlockOSThread()
			inner, err := onOwnThread(prepare, start)
			started <- err
			if err == nil {
				<-done
				inner()
			}
			return
		}
		err := prepare()
		if err == nil {
			err = start()
		}
		started <- err
		if err == nil {
			<-done
		}
	}()
	if err := <-started; err != nil {
		<-gone
		return nil, err
	}
	return func() { close(done); <-gone }, nil
}

// launch starts a command confined to writing below the given paths, where the machine can confine.
func launch(cmd *exec.Cmd, writable []string) (release func(), err error) {
	if !Probe().Confined() {
		isolate(cmd)
		return onOwnThread(noNewPrivileges, cmd.Start)
	}
	rules, err := newRuleset(writable)
	if err != nil {
		return nil, err
	}
	defer rules.close()
	isolate(cmd)
	return onOwnThread(rules.restrictThread, cmd.Start)
}
