package fit

import (
	"context"
	"os/exec"
	"slices"
	"strings"
	"time"

	"divisi/internal/spec"
)

// Programs are the programs of toolchains that are asked for their versions. No other program is asked: a run names them.
var Programs = strings.Fields("go node python3 rustc java ruby php gcc make git")

// askTime bounds how long a program takes to tell its version.
const askTime = 10 * time.Second

// Version asks a program of a toolchain for its version. It is "" for one that is not there, that tells none or that is no
// program of a toolchain.
func Version(ctx context.Context, dir, name string) string {
	if !slices.Contains(Programs, name) {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, name, spec.VersionArg(name))
	cmd.Dir = dir
	out, err := cmd.Output()
	if err != nil {
		return ""
	}
	return spec.VersionIn(string(out))
}
