package main

import "golang.org/x/sys/unix"

// room is what a file system still takes; inodes is -1 where it does not count them.
type room struct {
	bytes  uint64
	inodes int64
}

// roomAt asks what this user may still write below a directory.
func roomAt(dir string) (room, bool) {
	var st unix.Statfs_t
	if err := unix.Statfs(dir, &st); err != nil || st.Bsize <= 0 {
		return room{}, false
	}
	r := room{bytes: st.Bavail * uint64(st.Bsize), inodes: -1}
	if st.Files > 0 {
		r.inodes = int64(min(st.Ffree, 1<<62))
	}
	return r, true
}
