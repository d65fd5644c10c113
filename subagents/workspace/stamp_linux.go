package workspace

import (
	"io/fs"
	"syscall"
)

func stampOf(info fs.FileInfo) stamp {
	st, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return stamp{}
	}
	return stamp{st.Ctim.Nano(), st.Ino}
}
