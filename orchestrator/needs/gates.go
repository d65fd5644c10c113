package needs

import (
	"path/filepath"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// Gates fails before anything is written when commands do not find the program of a gate, and no setup installs it. A program in
// the repository is found in its trees.
func Gates(s *run.Spec) error {
	for _, g := range s.Project.Gates {
		program := spec.ProgramOf(g.Command)
		abs := filepath.IsAbs(program)
		if program == "" || strings.Contains(program, "/") && !abs {
			continue
		}
		switch leads, is := isAbsent(program, len(s.Project.Setup.Command) > 0); {
		case !is:
		case leads != "":
			return usage.Errorf("gate %s: commands do not see its program %s: commit the program to the repository, or put it "+
				"into a directory of PATH", g.Name, leads)
		case abs:
			return usage.Errorf("gate %s: %s is no executable file of this machine: install it, or commit the program to the "+
				"repository", g.Name, program)
		default:
			return usage.Errorf("gate %s: %s is not on PATH, and no setup installs it: install it, or write a setup into "+
				".divisi/divisi.yaml", g.Name, program)
		}
	}
	return nil
}
