package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
)

// The layers of confinement, by name.
const (
	// Namespaces show a command a file system, processes and a network of its own, and end with everything in them.
	Namespaces = "namespaces"
	// Landlock has the kernel deny files, signals and abstract sockets.
	Landlock = "landlock"
	// Seccomp filters system calls.
	Seccomp = "seccomp"
	// OwnUser runs the commands of root as a user who owns nothing.
	OwnUser = "own user"
)

// Protection is one layer of confinement. Where the machine does not give it, Why says so and Advice what to do.
type Protection struct {
	Name        string
	Have        bool
	Why, Advice string
}

// Level is the confinement of this machine. Its zero value is none.
type Level struct {
	layers []Protection
	// abi is the version of Landlock.
	abi int
	// leaks are the forbidden successes of a try-out.
	leaks []string
	// viewless is why commands have no private views of downloads.
	viewless error
	// untried is why the machine could not be tried out; then no command runs.
	untried error
}

// Protections lists the layers of confinement, those that the machine lacks too.
func (l Level) Protections() []Protection { return slices.Clone(l.layers) }

func (l Level) have(name string) bool {
	return slices.ContainsFunc(l.layers, func(x Protection) bool { return x.Name == name && x.Have })
}

// Name is the same for machines that give the same layers.
func (l Level) Name() string {
	var names []string
	for _, layer := range l.layers {
		if layer.Have {
			names = append(names, layer.Name)
		}
	}
	return strings.Join(names, ", ")
}

// views reports whether commands can have private views of downloads.
func (l Level) views() bool { return l.have(Namespaces) && l.viewless == nil }

// Confined reports whether commands are kept from reading and writing outside their paths.
func (l Level) Confined() bool { return l.have(Namespaces) || l.have(Landlock) }

// HostNetwork reports whether commands with the network get this machine's own, with every service on it.
func (l Level) HostNetwork() bool { return !l.have(Namespaces) }

// Strict returns nil when no layer is missing, else an error that names each with its reason and what to do.
func (l Level) Strict() error {
	if l.untried != nil {
		return l.untried
	}
	var missing []string
	for _, layer := range l.layers {
		if !layer.Have {
			missing = append(missing, fmt.Sprintf("no %s: %s. %s", layer.Name, layer.Why, layer.Advice))
		}
	}
	if len(missing) == 0 && len(l.layers) > 0 {
		return nil
	}
	return &WeakError{Missing: missing}
}

// WeakError reports that a machine does not give every layer of confinement.
type WeakError struct{ Missing []string }

// Error lists what is missing.
func (e *WeakError) Error() string {
	return "commands cannot be fully confined on this machine:\n" + strings.Join(e.Missing, "\n")
}

// String is one or two sentences for people: what commands can do, and why they can do more than they should.
func (l Level) String() string {
	if l.untried != nil {
		return "Commands do not run: " + l.untried.Error()
	}
	var text string
	switch {
	case !l.Confined():
		text = "Commands are NOT confined on this machine"
	case l.have(Namespaces):
		text = "Commands see only their own tree, temp, caches and the system's programs, and have a network of their own"
	default:
		text = "Commands read and write only their own tree, temp, caches and the system's programs, but see the machine's " +
			"processes and the names of all files"
		if l.have(Seccomp) {
			text += "; they have no network, not even loopback, unless their role has: then it is this machine's, " +
				"with every service on it"
		}
	}
	var why []string
	for _, layer := range l.layers {
		if !layer.Have {
			why = append(why, fmt.Sprintf("no %s (%s)", layer.Name, layer.Why))
		}
	}
	if l.Confined() {
		why = append(why, l.gaps()...)
	}
	if len(why) == 0 {
		return text + "."
	}
	return text + ": " + strings.Join(why, "; ") + "."
}

// gaps are the holes that an old kernel, or the try-out, leaves open.
func (l Level) gaps() []string {
	var gaps []string
	for _, leak := range l.leaks {
		gaps = append(gaps, "commands can "+leak)
	}
	if l.have(Namespaces) && l.viewless != nil {
		gaps = append(gaps, fmt.Sprintf("package managers cannot write to the downloads of setup (%v)", l.viewless))
	}
	if l.have(Landlock) && !l.have(Namespaces) {
		if l.abi < truncateABI {
			gaps = append(gaps, fmt.Sprintf("Landlock %d lets commands truncate other files", l.abi))
		}
		if l.abi < signalABI {
			gaps = append(gaps, fmt.Sprintf("Landlock %d lets commands signal other processes of yours", l.abi))
		}
	}
	return gaps
}

// The versions of Landlock that came to deny truncating files, and signals and abstract sockets.
const (
	truncateABI = 3
	signalABI   = 6
)

// UntriedError is why nothing can be said of the machine: that is no reason to go without what it may have, and no command runs.
type UntriedError struct{ err error }

// Error reports what kept the machine from being tried out.
func (e *UntriedError) Error() string {
	return "the confinement of this machine could not be tested: " + e.err.Error()
}

// Unwrap returns the cause.
func (e *UntriedError) Unwrap() error { return e.err }

// Probe reports what this machine gives. The first call tries it out: it runs what must fail, confined.
func Probe() Level { return probed() }

var probed = sync.OnceValue(probe)

// tried is where the machine is tried out.
var tried struct {
	mu    sync.Mutex
	place string
}

// TryIn names a directory that need not exist yet and on whose file system commands are given their places. It is called before
// the first Probe, which otherwise tries the machine out in the temporary directory alone.
func TryIn(dir string) {
	tried.mu.Lock()
	defer tried.mu.Unlock()
	tried.place = dir
}

// tryPlace is the nearest directory above the named one that is there; "" where none was named.
func tryPlace() string {
	tried.mu.Lock()
	defer tried.mu.Unlock()
	for dir := tried.place; dir != ""; dir = filepath.Dir(dir) {
		if info, err := os.Stat(dir); err == nil && info.IsDir() {
			return dir
		}
		if dir == filepath.Dir(dir) {
			break
		}
	}
	return ""
}
