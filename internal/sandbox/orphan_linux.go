package sandbox

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// commands are the processes that Run has started and not yet collected. What loses its parent becomes our child
// (shield), and nothing that a command starts can get back into our session: so a child of ours in another session that is
// none of these is an orphan of a command, whatever it did to its environment.
var commands = struct {
	// starting is held for reading from before a start until the process is listed, and alone by who looks for orphans.
	starting sync.RWMutex
	mu       sync.Mutex
	jobs     map[int]string
}{jobs: map[int]string{}}

// listed starts a process with start and keeps it apart from orphans until unlist.
func listed(id string, start func() (pid int, err error)) error {
	commands.starting.RLock()
	defer commands.starting.RUnlock()
	pid, err := start()
	if err == nil {
		commands.mu.Lock()
		defer commands.mu.Unlock()
		commands.jobs[pid] = id
	}
	return err
}

// unlist is called once the process has been collected.
func unlist(pid int) {
	commands.mu.Lock()
	defer commands.mu.Unlock()
	delete(commands.jobs, pid)
}

// process is what /proc/PID/stat tells.
type process struct {
	pid, parent, group, session int
	zombie                      bool
}

func lookAt(pid int) (process, bool) {
	data, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
	if err != nil {
		return process{}, false
	}
	// The name, in brackets, can hold anything.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 4 {
		return process{}, false
	}
	p := process{pid: pid, zombie: fields[0] == "Z"}
	for i, to := range []*int{&p.parent, &p.group, &p.session} {
		if *to, err = strconv.Atoi(fields[i+1]); err != nil {
			return process{}, false
		}
	}
	return p, true
}

// killOrphans ends and collects the orphans among our children until there are none but those of commands that still run.
// An orphan that hides whose it is counts as nobody's. The command with the id has ended: its orphans go too.
func killOrphans(ended string) {
	session, err := unix.Getsid(0)
	if err != nil {
		return
	}
	for range maxPasses {
		if !orphanPass(session, ended) {
			return
		}
	}
}

// orphanPass returns whether there may be more: whoever was ended leaves its own children to us.
func orphanPass(session int, ended string) bool {
	commands.starting.Lock()
	defer commands.starting.Unlock()
	found := false
	for _, pid := range processes() {
		p, ok := lookAt(pid)
		if !ok || p.parent != os.Getpid() || p.session == session || p.ours() {
			continue
		}
		if !p.zombie && p.belongsToOther(ended) {
			continue
		}
		found = true
		// Its id cannot go to somebody else before it is collected, and only this does that: now, or in the next pass.
		_ = unix.Kill(pid, unix.SIGKILL)
		_, _ = unix.Wait4(pid, nil, unix.WNOHANG, nil)
	}
	return found
}

func (p process) ours() bool {
	commands.mu.Lock()
	defer commands.mu.Unlock()
	_, is := commands.jobs[p.pid]
	return is
}

// belongsToOther says whether a command that still runs started the process: it is in that one's session, or carries its
// mark, which no other command can read.
func (p process) belongsToOther(ended string) bool {
	environ, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.pid), "environ"))
	if err != nil {
		environ = nil
	}
	commands.mu.Lock()
	defer commands.mu.Unlock()
	for leader, id := range commands.jobs {
		if id != ended && (p.session == leader || carries(environ, []byte(JobVar+"="+id))) {
			return true
		}
	}
	return false
}

// processes lists the ids of all processes.
func processes() []int {
	proc, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	names, err := proc.Readdirnames(-1)
	_ = proc.Close() // only read from
	if err != nil {
		return nil
	}
	pids := make([]int, 0, len(names))
	for _, name := range names {
		if pid, err := strconv.Atoi(name); err == nil {
			pids = append(pids, pid)
		}
	}
	return pids
}
