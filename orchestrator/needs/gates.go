package needs

import (
	"errors"
	"os/exec"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// gatesThere fails before anything is written when the program of a gate is not there, and no setup installs it. A program in the
// repository is found in its trees.
func gatesThere(s *run.Spec) error {
	if len(s.Project.Setup.Command) > 0 {
		return nil
	}
	for _, g := range s.Project.Gates {
		program := spec.ProgramOf(g.Command)
		if program == "" || strings.Contains(program, "/") {
			continue
		}
		if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
			return usage.Errorf("gate %s: %s is not on PATH, and no setup installs it: install it, or write a setup into "+
				".divisi/divisi.yaml", g.Name, program)
		}
	}
	return nil
}
