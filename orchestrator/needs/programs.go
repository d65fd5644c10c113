package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// agentPackages are the packages of npm that coding agents come from.
var agentPackages = map[string]string{
	spec.AgentClaude: "@anthropic-ai/claude-code", spec.AgentCodex: "@openai/codex",
	spec.AgentGemini: "@google/gemini-cli", spec.AgentOpencode: "opencode-ai",
}

// absent is a program that a role of the plan runs, and that commands do not find.
type absent struct {
	role    *spec.Role
	program string
	// leads is where it leads to, which commands do not see; "" where it is not there.
	leads string
}

// why says of whose program what commands do not find.
func (a *absent) why() string {
	switch abs := filepath.IsAbs(a.program); {
	case abs && a.leads == a.program:
		return fmt.Sprintf("the program %s of role %s is on this machine, and commands do not see it", a.program, a.role.Name)
	case abs && a.leads != "":
		return fmt.Sprintf("the program %s of role %s leads to %s, which commands do not see", a.program, a.role.Name, a.leads)
	case abs:
		return fmt.Sprintf("the program %s of role %s is no executable file of this machine", a.program, a.role.Name)
	case a.leads != "":
		return fmt.Sprintf("the program %s of role %s is a link on PATH to %s, which commands do not see, and no setup "+
			"installs it", a.program, a.role.Name, a.leads)
	}
	return fmt.Sprintf("the program %s of role %s is not on PATH, and no setup installs it", a.program, a.role.Name)
}

// how lists the possible fixes.
func (a *absent) how() string {
	from := agentPackages[a.role.Usage]
	isAgent := from != "" && filepath.Base(a.program) == a.role.Usage
	switch {
	case isAgent && a.leads != "":
		return fmt.Sprintf("install it with npm install -g --prefix DIR %s, put DIR/bin first in PATH", from)
	case filepath.IsAbs(a.program) && a.leads != "":
		return "commit the program to the repository, or put it into a directory of PATH"
	case a.leads != "":
		return "install it where PATH leads to, or put the directory that the link leads to into PATH"
	case isAgent:
		return "install it, for example with npm install -g " + from
	}
	return "install it"
}

// sure are the tasks that a run is sure to have: those of its plan, or its master's.
func sure(s *run.Spec) []spec.Task {
	if s.Plan == nil {
		return []spec.Task{{ID: run.MasterTask, Role: spec.RoleMaster}}
	}
	return s.Plan.Tasks
}

// absentPrograms lists the programs of commands that commands do not find. One in the repository is another matter.
func absentPrograms(s *run.Spec) (list []absent) {
	seen := map[string]bool{}
	for _, t := range sure(s) {
		role := s.Roles[t.Role]
		command := role.Command
		if len(t.Command) > 0 {
			command = t.Command
		}
		program := role.Program(command)
		if program == "" || !role.Runs(spec.ExecutorCommand) || seen[role.Name+" "+program] {
			continue
		}
		seen[role.Name+" "+program] = true
		if strings.Contains(program, "/") && !filepath.IsAbs(program) {
			continue
		}
		if leads, is := isAbsent(program, len(s.Project.Setup.Command) > 0); is {
			list = append(list, absent{&role, program, leads})
		}
	}
	return list
}

// isAbsent reports whether commands do not find a program: it is not there, and no setup may bring it, or it leads to a place
// that commands do not see. They find go in its own directory, wherever a link on PATH leads to.
func isAbsent(program string, setup bool) (leads string, is bool) {
	abs := filepath.IsAbs(program)
	if abs && sandbox.Inside(program) || setup && !abs {
		return "", false
	}
	found, err := exec.LookPath(program)
	if err != nil {
		return "", !setup && !errors.Is(err, exec.ErrDot)
	}
	if name := filepath.Base(program); !filepath.IsAbs(found) || name == "go" || name == "gofmt" {
		return "", false
	}
	leads = sandbox.Hides(found, os.Environ())
	return leads, leads != "" && (abs || !later(program))
}

// later reports whether commands see a program in any directory of PATH: they continue where a link leads to nothing.
func later(program string) bool {
	return slices.ContainsFunc(filepath.SplitList(os.Getenv("PATH")), func(dir string) bool {
		found, err := exec.LookPath(filepath.Join(dir, program))
		return err == nil && filepath.IsAbs(found) && sandbox.Hides(found, os.Environ()) == ""
	})
}

// programsThere fails before anything is written when no task of a role of the plan could be done without a program.
func programsThere(s *run.Spec) error {
	for _, a := range absentPrograms(s) {
		if a.role.Runs(spec.ExecutorModel) {
			continue
		}
		return usage.Errorf("%s: %s, and start again", a.why(), a.how())
	}
	return nil
}

// programNotices say of the plan's commands which programs are not there, where a model continues without them, and of a dry run.
func programNotices(s *run.Spec) []string {
	var notices []string
	for _, a := range absentPrograms(s) {
		what := "its tasks will fail"
		if a.role.Runs(spec.ExecutorModel) {
			what = "its tasks all go to the model"
		}
		notices = append(notices, a.why()+": "+what)
	}
	return notices
}
