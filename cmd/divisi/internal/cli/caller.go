package cli

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// shellPath is the PATH of the shell in which everything began. Before that, git puts its own directory for hooks and for
// rebase --exec, and package managers put node_modules/.bin of the checkout and of each directory above it for their scripts: a
// run that one of them starts would find other programs, prove with them, and compare itself with no earlier run.
func shellPath(environ func(string) string) string {
	dirs := filepath.SplitList(environ("PATH"))
	script := environ("npm_lifecycle_event") != "" || environ("npm_execpath") != ""
	i := slices.IndexFunc(dirs, func(dir string) bool {
		own := filepath.Base(dir)
		switch {
		case own == "git-core", dir != "" && dir == environ("GIT_EXEC_PATH"):
			return false
		case !script:
			return true
		case dir != "" && dir == environ("BERRY_BIN_FOLDER"), strings.HasPrefix(own, "yarn--"), own == "node-gyp-bin":
			return false
		}
		return own != ".bin" || filepath.Base(filepath.Dir(dir)) != "node_modules"
	})
	return strings.Join(dirs[max(0, i):], string(filepath.ListSeparator))
}

// AsInShell gives this process, and with it all that it starts, the PATH of the shell.
func AsInShell() error { return os.Setenv("PATH", shellPath(os.Getenv)) }
