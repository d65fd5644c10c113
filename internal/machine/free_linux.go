package machine

import (
	"bytes"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Free is how many bytes this user may still write under dir; ok is false when the system does not say.
func Free(dir string) (free int64, ok bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil {
		return 0, false
	}
	return int64(st.Bavail) * st.Bsize, true
}

// Memory is how many bytes of memory the machine has; 0 where the system does not say.
func Memory() uint64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0
	}
	return info.Totalram * uint64(info.Unit)
}

// available is how many bytes of memory programs can still have; 0 where the system does not say.
func available() int64 {
	data, err := os.ReadFile("/proc/meminfo")
	_, data, found := bytes.Cut(data, []byte("MemAvailable:"))
	var kib int64
	if _, bad := fmt.Sscan(string(data), &kib); err != nil || !found || bad != nil {
		return 0
	}
	return kib << 10
}
