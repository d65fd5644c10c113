package fit

import (
	"context"
	"os"

	"divisi/internal/shim"
	"divisi/subagents/environment"
	"divisi/subagents/wire"
)

// Environ is the environment that the commands of a run take their PATH from on the machine of a worker, which has no checkout:
// version managers are asked in the home. notes tell of programs that they do not name.
func Environ(ctx context.Context, s *wire.Setup) (environ, notes []string) {
	var commands [][]string
	for _, g := range s.Project.Gates {
		commands = append(commands, g.Command)
	}
	home, _ := os.UserHomeDir() // without one the managers are asked here
	environ, _, lost := shim.Environ(ctx, os.Environ(), home, commands, environment.Names(commands))
	for _, l := range lost {
		notes = append(notes, l.String())
	}
	return environ, notes
}
