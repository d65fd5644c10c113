package machine

import "golang.org/x/sys/unix"

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
