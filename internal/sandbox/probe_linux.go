package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// probe tries the strongest level first, then weaker ones until one works.
func probe() Level {
	abi, whyLandlock := stage.LandlockABI()
	l := Level{abi: abi, layers: []Protection{
		{Name: Namespaces, Have: true}, {Name: Landlock, Have: true}, {Name: Seccomp, Have: true}, {Name: OwnUser, Have: true},
	}}
	if abi == 0 {
		l.layers[1] = Protection{
			Landlock, false, whyLandlock, "Take Linux 5.13 or newer, with landlock in the kernel's lsm= list.",
		}
	}
	if !stage.HasFilter {
		l.layers[2] = Protection{Seccomp, false, stage.NoFilter, "Take a machine with an amd64 or arm64 processor."}
	}
	for {
		leaks, failed := tryOut(l)
		if failed == nil {
			l.leaks = leaks
			return l
		}
		if _, ok := errors.AsType[*UntriedError](failed); ok {
			l.untried = failed
			return l
		}
		if layer, ok := errors.AsType[*layerError](failed); ok && layer.layer == stage.Views {
			l.viewless = failed
			continue
		}
		if !l.lower(failed) {
			return l
		}
	}
}

// lower gives up the layer that failed; it returns false when there is none left to give up.
func (l *Level) lower(failed error) bool {
	name := Namespaces
	if layer, ok := errors.AsType[*layerError](failed); ok && layer.layer != "" {
		name = layer.layer
	}
	if name == Namespaces && l.ownUser() {
		name = OwnUser // without it there can still be namespaces
	}
	advice := map[string]string{
		OwnUser: "Run Divisi as an ordinary user, or keep TMPDIR and the state directory on ext4, xfs or btrfs.",
		Namespaces: "Let users make namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone=1, " +
			"kernel.apparmor_restrict_unprivileged_userns=0; in a container, run it privileged.",
		Landlock: "Ask the administrator of this machine or container to allow the system calls of Landlock.",
		Seccomp:  "Ask the administrator of this machine or container to allow system call filters.",
	}
	for _, n := range []string{name, Namespaces, Landlock, Seccomp} {
		for i := range l.layers {
			if layer := &l.layers[i]; layer.Name == n && layer.Have {
				layer.Have, layer.Why, layer.Advice = false, whyNot(failed), advice[n]
				return true
			}
		}
	}
	return false
}

// whyNot words the refusal of a layer. The kernel says of a used up number of namespaces that a device is full.
func whyNot(failed error) string {
	if errors.Is(failed, unix.ENOSPC) {
		return "this user has as many namespaces as user.max_user_namespaces allows, which may be none"
	}
	return failed.Error()
}

// layerError is a layer that the machine refused.
type layerError struct {
	layer string
	err   error
}

func (e *layerError) Error() string { return e.err.Error() }
func (e *layerError) Unwrap() error { return e.err }

// passing reports whether a process could not be started for a reason that says nothing about the machine.
func passing(err error) bool {
	few := []error{unix.EAGAIN, unix.ENOMEM, unix.EMFILE, unix.ENFILE}
	return slices.ContainsFunc(few, func(e error) bool { return errors.Is(err, e) })
}

// makeTryDir makes the directory of a try-out. Its file system must be the one that commands get their places on: not all can be
// shown to another user, or be the upper layer of a view.
func makeTryDir() (string, error) {
	if place := tryPlace(); place != "" {
		if dir, err := os.MkdirTemp(place, "divisi-probe-"); err == nil {
			return dir, nil
		}
	}
	return os.MkdirTemp("", "divisi-probe-")
}

// clearTry removes the directory of a try-out. An overlay leaves a directory in it that its own user cannot list.
func clearTry(dir string) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, _ error) error {
		if d != nil && d.IsDir() {
			_ = os.Chmod(name, 0o700) //nolint:gosec // a directory
		}
		return nil
	})
	_ = os.RemoveAll(dir) // a few files at worst
}

// tryOut runs what must fail at a level. Leaks without which there is still confinement are returned; an error means that the
// level cannot be had.
func tryOut(l Level) (leaks []string, err error) {
	dir, err := makeTryDir()
	if err != nil {
		return nil, &UntriedError{err}
	}
	defer clearTry(dir)
	secret, own := filepath.Join(dir, "secret"), filepath.Join(dir, "own")
	downloads := DownloadDirs{Dir: filepath.Join(own, "a"), Modules: filepath.Join(own, "b"), Scratch: filepath.Join(own, "c")}
	if err := errors.Join(os.WriteFile(secret, nil, 0o600), os.Mkdir(own, 0o700), os.Mkdir(downloads.Dir, 0o700),
		os.Mkdir(downloads.Modules, 0o700), os.Mkdir(downloads.Scratch, 0o700)); err != nil {
		return nil, &UntriedError{err}
	}
	port, closePort, err := anyPort()
	if err != nil {
		return nil, err
	}
	defer closePort()
	written := filepath.Join(dir, "written")
	c := Command{Dir: own, Writable: []string{own}, Place: Place{Downloads: downloads}}
	r, err := perform(l, c, &stage.Trial{Write: written, Read: secret, Port: port})
	if err != nil && passing(err) {
		return nil, &UntriedError{err}
	}
	if err != nil {
		return nil, err
	}
	if !l.Confined() {
		return nil, nil
	}
	if _, err := os.Lstat(written); err == nil {
		return nil, errors.New("it was tried out, and commands could write files outside")
	}
	if slices.Contains(r.Leaks, stage.Reads) {
		return nil, fmt.Errorf("it was tried out, and commands could %s", stage.Reads)
	}
	return r.Leaks, nil
}

// anyPort listens on loopback: a confined command must fail to reach it.
func anyPort() (port int, stop func(), err error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0") //nolint:noctx // it returns at once
	if err != nil {
		return 0, nil, &UntriedError{err}
	}
	address, _ := l.Addr().(*net.TCPAddr)
	return address.Port, func() { _ = l.Close() }, nil
}
