package fit

import (
	"context"
	"os/exec"
	"time"

	"divisi/internal/lazyregexp"
)

// asks are the arguments with which a program of a toolchain tells its version. No other program is asked: a run names them.
var asks = map[string][]string{
	"go": {"version"}, "node": {"--version"}, "python3": {"--version"}, "rustc": {"--version"}, "java": {"--version"},
	"ruby": {"--version"}, "php": {"--version"}, "gcc": {"--version"}, "make": {"--version"}, "git": {"--version"},
}

var number = lazyregexp.New(`\d+(\.\d+)+`)

// askTime bounds how long a program takes to tell its version.
const askTime = 10 * time.Second

// Version asks a program of a toolchain for its version. It is "" for one that is not there, that tells none or that is no
// program of a toolchain.
func Version(ctx context.Context, dir, name string) string {
	args, known := asks[name]
	if !known {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return number.FindString(string(out))
}

// Programs are the programs of toolchains that are asked for their versions.
func Programs() []string {
	names := make([]string, 0, len(asks))
	for name := range asks {
		names = append(names, name)
	}
	return names
}
