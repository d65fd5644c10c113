package stage

import "time"

// Marker is the name, as its first argument, that makes a program the stage of a command.
const Marker = "divisi-sandbox-stage"

// The descriptors that the stage is started with, beside the command's standard streams.
const (
	// ConfigFD is a file with a Config, as encoding/gob writes it: names and arguments can hold any byte.
	ConfigFD = 3
	// ControlFD is a stream socket: the parent writes Terminate and Kill, the stage a Report when the command runs and before it
	// ends. When the parent's end closes, which it does when the parent dies, everything ends.
	ControlFD = 4
	// FirstTree is the descriptor of the first tree that the parent opened for a Mount.
	FirstTree = 5
)

// What the parent writes to the control socket.
const (
	// Terminate asks the command's process group to end.
	Terminate = 'T'
	// Kill ends the command and everything that it started.
	Kill = 'K'
	// Begin lets a stage go on that was started ahead, once it has answered with a byte that it holds what its command is given.
	Begin = 'B'
)

// Hold is the state that a keeper holds for its stages. Its parent writes to its control socket a byte with the descriptors of a
// stage, from standard input on, and gets a Started. The keeper ends when the parent's end closes.
type Hold struct {
	// Mounts are made once. A stage gets a copy of each, in this order, behind its other descriptors.
	Mounts []Mount
	// Loopback reports whether the keeper has a network of its own, which its stages share.
	Loopback bool
}

// Started is the reply of a keeper about a requested stage: the process, which is a child of the keeper's parent, or why there is
// none. The first one, without a process, reports that it holds all or why not; Layer is as in a Report.
type Started struct {
	Process      int
	Error, Layer string
}

// Config is the work of a stage. All paths are absolute.
type Config struct {
	// Hold, when not nil, is what a keeper holds; the rest is empty then.
	Hold *Hold
	// Ahead has the stage wait for its command: the parent writes to the control socket a byte with the descriptors of the
	// standard streams and of a Config, and those from FirstTree on, but for a keeper's views, then Begin. The rest is empty.
	Ahead bool
	// Root is the file system that the command sees; nil leaves the machine's own, and starts without namespaces.
	Root *Root
	// Landlock and Seccomp report which of the two the kernel can do.
	Landlock bool
	Seccomp  bool
	// Reads and Writes are the paths, as the command sees them, below which Landlock lets it read and write.
	Reads  []string
	Writes []string
	// Own allows what is local to a machine, unix sockets and shared memory: where it is local to the command's namespaces. Inet
	// allows the network's sockets. Those that ask the kernel about its network are always allowed.
	Own, Inet bool
	// Args, Env and Dir are the command; Args[0] is looked up in the PATH of Env.
	Args   []string
	Env    []string
	Dir    string
	Limits Limits
	// Trial, when not nil, is tried instead of a command.
	Trial *Trial
}

// Root is a file system made of parts of the machine's.
type Root struct {
	// Mounts are in the order in which they are made.
	Mounts []Mount
	// Files are small files that are not the machine's, by path.
	Files map[string]string
	// Host is the name of the machine.
	Host string
	// Proxy is the descriptor of a unix socket over which the parent gets the listening socket of the proxy; 0 for none.
	// Port is the port of its own loopback where the command finds that.
	Proxy, Port int
	// Connected reports whether the loopback is up already: that of a keeper.
	Connected bool
	// MaxTemp bounds /tmp and /dev/shm, each, in bytes.
	MaxTemp int64
}

// Mount is one part of a Root.
type Mount struct {
	// From is a path of the machine, or To is a symbolic link to Link, or, with both empty, an empty directory.
	From string
	Link string
	// FD is the descriptor of the tree, ready to be attached, in the place of From; 0 for none.
	FD int
	To string
	// Below, where it is not empty, is the path below To where it is attached: not where there is nothing of its kind, or a
	// link on the way.
	Below string
	// Layers, where there are some, are what To shows, the first on top, each with a From or an FD alone. What is written goes to
	// From, a directory with empty directories Upper and Work, and leaves the layers as they are.
	Layers []Mount
	// Write leaves it writable, Device leaves device files usable, and Maybe skips it where it cannot be opened.
	Write  bool
	Device bool
	Maybe  bool
}

// The directories in the From of a Mount with Layers.
const (
	Upper = "upper"
	Work  = "work"
)

// Limits bound a command; zero values mean no bound.
type Limits struct {
	// FileSize is in bytes; CPU in seconds of one process.
	FileSize  uint64
	OpenFiles uint64
	CPU       uint64
	// Processes bounds processes and threads where the command has a user namespace of its own.
	Processes uint64
	// Memory is the memory bound of all processes together, in bytes; it is checked every Look.
	Memory int64
	Look   time.Duration
	// Idle gives the command the processors when nothing else wants them.
	Idle bool
}

// Trial lists the actions that must fail inside: it is tried once, to see whether the machine really denies.
type Trial struct {
	// Write is a file that must not be written, Read one that must not be read, Port a TCP port of the machine's loopback that
	// must not be reached.
	Write string
	Read  string
	Port  int
}

// Report is the message of a stage: that the command began, and how it ended.
type Report struct {
	// Began reports whether the command runs; the rest is empty then.
	Began bool
	// Exit is the command's exit code, -1 when a signal ended it; Signal names that.
	Exit   int
	Signal string
	// Memory reports whether it was killed because it used more than Limits.Memory.
	Memory bool
	// Missing reports whether there is no such program.
	Missing bool
	// Error is why the command could not be started, Layer what failed: one of the names below, or empty.
	Error string
	Layer string
	// Leaks are the forbidden successes of a Trial.
	Leaks []string
}

// The layers of confinement.
const (
	Namespaces = "namespaces"
	Landlock   = "landlock"
	Seccomp    = "seccomp"
	// Views are the mounts with Layers: without them there is no less confinement.
	Views = "views"
)
