package stage

import (
	"bytes"
	"os"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// descendants lists the processes below one.
func descendants(of int) []int {
	children := childrenOf
	if _, err := os.Stat("/proc/thread-self/children"); err != nil { // not every kernel tells
		children = parents()
	}
	var found []int
	for next := children(of); len(next) > 0; next = next[1:] {
		found = append(found, next[0])
		next = append(next, children(next[0])...)
	}
	return found
}

// childrenOf asks the kernel for the children of a process, which belong to its threads.
func childrenOf(pid int) []int {
	dir := "/proc/" + strconv.Itoa(pid) + "/task"
	threads, err := os.ReadDir(dir)
	if err != nil {
		return nil // it has ended, and its children have another parent
	}
	var pids []int
	for _, thread := range threads {
		text, err := os.ReadFile(dir + "/" + thread.Name() + "/children")
		if err != nil {
			continue // as above
		}
		for _, word := range strings.Fields(string(text)) {
			if pid, err := strconv.Atoi(word); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

// parents asks all processes for their parents, which takes longer.
func parents() func(int) []int {
	children := map[int][]int{}
	for _, pid := range Processes() {
		if parent, ok := parentOf(pid); ok {
			children[parent] = append(children[parent], pid)
		}
	}
	return func(pid int) []int { return children[pid] }
}

// Processes lists the ids of all processes.
func Processes() []int {
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

func parentOf(pid int) (int, bool) {
	data, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return 0, false
	}
	// The name, in brackets, can hold anything; the state and the parent follow it.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	if len(fields) < 2 {
		return 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	return parent, err == nil
}

// watch kills the command when its processes together use too much memory. What processes share is counted for each of them at
// first, because that is cheap to know; before anything is killed it is counted once.
func (k *keeper) watch() {
	most := k.config.Limits.Memory
	for range time.Tick(k.config.Limits.Look) {
		pids := descendants(os.Getpid())
		files := k.config.Root.inMemory()
		if files+sum(pids, roughly) > most && files+sum(pids, exactly) > most {
			k.greedy.Store(true)
			k.killAll()
		}
	}
}

func sum(pids []int, of func(pid string) int64) int64 {
	total := int64(0)
	for _, pid := range pids {
		total += of(strconv.Itoa(pid))
	}
	return total
}

// roughly is the memory of a process in bytes, files of the disk left out.
func roughly(pid string) int64 {
	return kilobytes("/proc/"+pid+"/status", "RssAnon:", "RssShmem:", "VmSwap:")
}

// exactly counts of what is shared only the process's part. A process that does not show it is counted roughly.
func exactly(pid string) int64 {
	if n := kilobytes("/proc/"+pid+"/smaps_rollup", "Pss_Anon:", "Pss_Shmem:", "SwapPss:"); n > 0 {
		return n
	}
	return roughly(pid)
}

// kilobytes adds up the named lines of a file such as "RssAnon:  12 kB", in bytes.
func kilobytes(file string, names ...string) int64 {
	data, err := os.ReadFile(file)
	if err != nil {
		return 0
	}
	total := int64(0)
	for line := range strings.SplitSeq(string(data), "\n") {
		for _, name := range names {
			if rest, ok := strings.CutPrefix(line, name); ok {
				n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(rest), " kB"), 10, 64) // 0 when it is no number
				total += n << 10
			}
		}
	}
	return total
}

// inMemory is the size of the files in the root's own file systems, in bytes.
func (r *Root) inMemory() int64 {
	if r == nil {
		return 0
	}
	total := int64(0)
	for _, path := range []string{"/tmp", "/dev/shm"} {
		var stat unix.Statfs_t
		if unix.Statfs(path, &stat) == nil && stat.Type == unix.TMPFS_MAGIC {
			total += int64(stat.Blocks-stat.Bfree) * stat.Bsize
		}
	}
	return total
}
