package stage

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Program finds the file of a program: in the PATH of env, or below dir where the name has a slash. Relative entries of PATH are
// skipped: they would run programs out of a tree that agents write. It returns false when there is no such executable file.
func Program(name, dir string, env []string) (string, bool) {
	if strings.ContainsRune(name, '/') {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, executable(name)
	}
	for _, entry := range filepath.SplitList(Lookup(env, "PATH")) {
		if path := filepath.Join(entry, name); filepath.IsAbs(entry) && executable(path) {
			return path, true
		}
	}
	return "", false
}

func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// Lookup returns the last value of a name in an environment, or "".
func Lookup(env []string, name string) string {
	value, _ := Find(env, name)
	return value
}

// Find returns the last value of a name in an environment, and whether there is one.
func Find(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}
