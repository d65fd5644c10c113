package command

import (
	"context"
	"os"
	"path/filepath"

	"divisi/internal/sandbox"
)

// outside explains a failure of a command that names a file of the machine which commands do not see; "" where it names none.
func (c *Executor) outside(ctx context.Context, args []string) string {
	for _, arg := range args {
		if !filepath.IsAbs(arg) {
			continue
		}
		if _, err := os.Stat(arg); err != nil {
			continue
		}
		seen, err := sandbox.Run(ctx, sandbox.Command{
			Args: []string{"test", "-e", arg}, Dir: c.Dir, Env: c.Env, Place: c.Place, Writable: c.Writable, Readable: c.Readable,
		})
		if err == nil && seen.ExitCode == 1 {
			return "; " + arg + " is on this machine, and commands do not see it: commit the program to the repository, or " +
				"put it " +
				"into a directory of PATH"
		}
	}
	return ""
}
