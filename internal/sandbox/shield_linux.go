package sandbox

import (
	"bytes"
	"math"
	"os"
	"strconv"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// keepPrefix begins the variables that stay readable from outside: they mark processes, and are no secrets.
const keepPrefix = "DIVISI_"

// shield closes, once and before the first command, the ways by which a command could reach back into this process: its
// environment as the kernel shows it, its memory, what it inherited open.
// None of it can fail in a way that a caller could act on: each step is a second line behind Landlock.
var shield = sync.OnceFunc(func() {
	wipe(shownEnviron())
	_ = unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0)
	keepInherited()
})

// keepInherited marks what this process has open beside its standard streams, so that no command gets it: Landlock does not
// bind what is open already.
func keepInherited() { _ = unix.CloseRange(3, math.MaxInt32, unix.CLOSE_RANGE_CLOEXEC) }

// shownEnviron is the memory that /proc/self/environ shows: what this process was started with. The Go runtime has
// copied it before main, so os.Getenv does not need it any more. It is nil when the kernel does not say where it is.
func shownEnviron() []byte {
	data, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return nil
	}
	// The name of the program, in brackets, can hold anything; fields are counted behind it. env_start is field 50.
	fields := strings.Fields(string(data[bytes.LastIndexByte(data, ')')+1:]))
	const first, start, end = 3, 50, 51
	if len(fields) <= end-first {
		return nil
	}
	from, errFrom := strconv.ParseUint(fields[start-first], 10, 64)
	to, errTo := strconv.ParseUint(fields[end-first], 10, 64)
	if errFrom != nil || errTo != nil || from == 0 || to <= from {
		return nil
	}
	at := uintptr(from)
	return unsafe.Slice(*(**byte)(unsafe.Pointer(&at)), to-from) //nolint:gosec // the kernel reports that it is ours
}

// wipe blanks an environment in place. The marks of Divisi stay, so that an outer Divisi still finds this process.
func wipe(environ []byte) {
	for len(environ) > 0 {
		end := bytes.IndexByte(environ, 0)
		if end < 0 {
			end = len(environ) - 1
		}
		entry := environ[:end+1]
		if !bytes.HasPrefix(entry, []byte(keepPrefix)) {
			clear(entry)
		}
		environ = environ[end+1:]
	}
}
