package sandbox

import (
	"fmt"
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
	// OwnUser runs the commands of root as somebody who owns nothing.
	OwnUser = "own user"
)

// Layer is one layer of confinement. Where the machine does not give it, Why says so and Advice what to do.
type Layer struct {
	Name        string
	Have        bool
	Why, Advice string
}

// Level is what confinement this machine gives. Its zero value is none.
type Level struct {
	layers []Layer
	// abi is the version of Landlock.
	abi int
	// leaks are what a try-out could do that it should not.
	leaks []string
}

// Layers lists the layers, those that the machine lacks too.
func (l Level) Layers() []Layer { return slices.Clone(l.layers) }

func (l Level) have(name string) bool {
	return slices.ContainsFunc(l.layers, func(x Layer) bool { return x.Name == name && x.Have })
}

// Confined says whether commands are kept from reading and writing outside their paths.
func (l Level) Confined() bool { return l.have(Namespaces) || l.have(Landlock) }

// Strict returns nil when no layer is missing, else an error that names each with its reason and what to do.
func (l Level) Strict() error {
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

// WeakError says that a machine does not give every layer of confinement.
type WeakError struct{ Missing []string }

// Error lists what is missing.
func (e *WeakError) Error() string {
	return "commands cannot be fully confined on this machine:\n" + strings.Join(e.Missing, "\n")
}

// String is one or two sentences for people: what commands can do, and why they can do more than they should.
func (l Level) String() string {
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
			text += "; they have no network, not even loopback, unless their role has"
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

// gaps are what an old kernel, or what was tried out, leaves open.
func (l Level) gaps() []string {
	var gaps []string
	for _, leak := range l.leaks {
		gaps = append(gaps, "commands can "+leak)
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

// Probe says what this machine gives. The first call tries it out: it runs what must fail, confined.
func Probe() Level { return probed() }

var probed = sync.OnceValue(probe)
