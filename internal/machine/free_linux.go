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
