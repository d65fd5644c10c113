package doctor

import "golang.org/x/sys/unix"

// freeAt returns what this user can still write below a directory.
func freeAt(dir string) (space, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bsize <= 0 {
		return space{}, false
	}
	free := space{bytes: st.Bavail * uint64(st.Bsize), inodes: -1}
	if st.Files > 0 {
		free.inodes = int64(min(st.Ffree, 1<<62))
	}
	return free, true
}
