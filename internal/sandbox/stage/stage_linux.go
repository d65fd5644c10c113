package stage

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func init() { //nolint:gochecknoinits // the package's comment reports why
	if len(os.Args) > 0 && os.Args[0] == Marker {
		runtime.LockOSThread()
		perform()
	}
}

// layerError is a layer of confinement that could not be put on.
type layerError struct {
	layer string
	err   error
}

func (e *layerError) Error() string { return e.layer + ": " + e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

// perform is the life of a stage. It never returns.
func perform() {
	var c Config
	err := readConfig(ConfigFD, &c)
	if err == nil && c.Ahead {
		err = c.arrive()
	}
	if err != nil {
		finish(Report{Error: err.Error()})
	}
	if c.Hold != nil {
		c.Hold.perform()
	}
	keep := newKeeper(&c)
	child, r := c.begin(keep)
	if child > 0 {
		r = keep.end(child)
	}
	finish(r)
}

// begin confines a thread of its own and starts the command on it. A process can be signalled by processes that are
// confined as its first thread is, and the command must not reach the stage: that thread stays outside, without any rights,
// and the other one ends.
func (c *Config) begin(keep *keeper) (child int, r Report) {
	confined, bare, done := make(chan error), make(chan error), make(chan struct{})
	go func() {
		defer close(done)
		runtime.LockOSThread() // for good: the thread ends with this function
		confined <- c.confine()
		if <-bare == nil {
			child, r = c.start(keep)
		}
	}()
	err := <-confined
	if err == nil {
		err = dropOwn()
	}
	bare <- err
	<-done
	if err != nil {
		return 0, refusal(err)
	}
	c.Limits.yield(child)
	return child, r
}

// start starts the command on the calling thread, or tries out what that one can do.
func (c *Config) start(keep *keeper) (child int, r Report) {
	if c.Trial != nil {
		return 0, Report{Leaks: c.Trial.try()}
	}
	return keep.begin()
}

// refusal reports a layer that could not be put on.
func refusal(err error) Report {
	if failed, ok := errors.AsType[*layerError](err); ok {
		return Report{Layer: failed.layer, Error: failed.err.Error()}
	}
	return Report{Error: err.Error()}
}

func readConfig(fd int, c *Config) error {
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("%s is started by Divisi alone: %w", Marker, err)
	}
	data := make([]byte, stat.Size)
	n, err := unix.Pread(fd, data, 0)
	if err == nil {
		err = gob.NewDecoder(bytes.NewReader(data[:n])).Decode(c)
	}
	if err != nil {
		return fmt.Errorf("read the command: %w", err)
	}
	return nil
}

// finish tells the parent and ends the process without any of the Go runtime's farewells, which could write into the command's
// output. With namespaces the kernel ends everything else before the parent sees the end of this.
func finish(r Report) {
	say(r)
	unix.Exit(0)
}

// say tells the parent. One that is gone needs no report.
func say(r Report) {
	var text bytes.Buffer
	if gob.NewEncoder(&text).Encode(r) == nil {
		_, _ = unix.Write(ControlFD, text.Bytes())
	}
}

// confine gives the calling thread, and what it will start, less and less. The order is the kernel's: Landlock forbids mounts,
// and the filter of system calls forbids nearly all that comes before it.
func (c *Config) confine() error {
	if c.Root != nil {
		if err := c.Root.enter(); err != nil {
			if failed, ok := errors.AsType[*layerError](err); ok {
				return failed
			}
			return &layerError{Namespaces, err}
		}
	}
	if err := c.Limits.set(c.Root != nil); err != nil {
		return err
	}
	if err := giveUpRights(); err != nil {
		return err
	}
	if c.Landlock {
		if err := restrict(c.Reads, c.Writes); err != nil {
			return &layerError{Landlock, err}
		}
	}
	if c.Seccomp {
		if err := filter(c.Own, c.Inet, c.Own && c.Landlock); err != nil {
			return &layerError{Seccomp, err}
		}
	}
	return nil
}

// giveUpRights leaves no capability, no way to gain one, and no descriptor to the command.
func giveUpRights() error {
	if err := unix.CloseRange(ConfigFD, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		return fmt.Errorf("close inherited files: %w", err)
	}
	// Orphans of the command become children of this process, also without namespaces.
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("adopt orphans: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
		return fmt.Errorf("close own memory: %w", err)
	}
	for capability := uintptr(0); capability <= unix.CAP_LAST_CAP; capability++ {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, capability, 0, 0, 0) // who may not drop it has none to drop
	}
	if err := unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := dropAll(); err != nil {
		return err
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	return nil
}

// dropOwn leaves the calling thread no capability and no way to gain one.
func dropOwn() error {
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	if err := unix.Capset(&header, &none[0]); err != nil {
		return fmt.Errorf("give up capabilities: %w", err)
	}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("forbid new privileges: %w", err)
	}
	return nil
}

// dropAll empties the capabilities of all threads of this process; of the calling thread alone where the program is linked with
// C: only that one starts anything.
func dropAll() error {
	header, none := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}, [2]unix.CapUserData{}
	_, _, errno := syscall.AllThreadsSyscall(unix.SYS_CAPSET,
		uintptr(unsafe.Pointer(&header)), uintptr(unsafe.Pointer(&none[0])), 0) //nolint:gosec // the kernel's interface
	if errno == syscall.ENOTSUP {
		if err := unix.Capset(&header, &none[0]); err != nil {
			return fmt.Errorf("give up capabilities: %w", err)
		}
		return nil
	}
	if errno != 0 {
		return fmt.Errorf("give up capabilities: %w", errno)
	}
	return nil
}

// Reads is the leak without which there is no confinement to speak of.
const Reads = "read files outside"

// try does what must fail, as the command would, and returns what did not. Whether the writing failed the parent sees: it may
// have been somewhere else.
func (t *Trial) try() []string {
	_ = os.WriteFile(t.Write, nil, 0o600)
	var leaks []string
	for what, works := range map[string]func() bool{
		Reads:               func() bool { _, err := os.ReadFile(t.Read); return err == nil },
		"reach the network": func() bool { return connects(t.Port) },
		"use every system call": func() bool {
			_, _, errno := unix.RawSyscall(unix.SYS_ADD_KEY, 0, 0, 0) // without arguments it does nothing
			return errno != unix.EPERM && errno != unix.ENOSYS
		},
	} {
		if works() {
			leaks = append(leaks, what)
		}
	}
	return leaks
}

func connects(port int) bool {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return false
	}
	defer unix.Close(s) // it carried nothing
	return unix.Connect(s, &unix.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}) == nil
}
