package stage

import (
	"os"
	"path"
	"strings"
)

// Program finds the file of a program: in the PATH of env, or below dir where the name has a slash. Relative entries of PATH are
// skipped: they would run programs out of a tree that agents write. It returns false when there is no such executable file.
func Program(name, dir string, env []string) (string, bool) {
	if strings.ContainsRune(name, '/') {
		if !path.IsAbs(name) {
			name = path.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, entry := range strings.Split(Lookup(env, "PATH"), ":") {
		if file := path.Join(entry, name); path.IsAbs(entry) && executable(file) {
			return file, true
		}
	}
	return "", false
}

func executable(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}
