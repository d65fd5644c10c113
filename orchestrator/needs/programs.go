package needs

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
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
	// leads is where its link on PATH leads to, which commands do not see; "" where it is not on PATH.
	leads string
}

// why says of whose program what commands do not find.
func (a *absent) why() string {
	if a.leads != "" {
		return fmt.Sprintf("the program %s of role %s is a link on PATH to %s, which commands do not see, and no setup "+
			"installs it", a.program, a.role.Name, a.leads)
	}
	return fmt.Sprintf("the program %s of role %s is not on PATH, and no setup installs it", a.program, a.role.Name)
}

// how is what a person can do.
func (a *absent) how() string {
	from := agentPackages[a.role.Usage]
	isAgent := from != "" && filepath.Base(a.program) == a.role.Usage
	switch {
	case isAgent && a.leads != "":
		return fmt.Sprintf("install it with npm install -g --prefix DIR %s, put DIR/bin first in PATH", from)
	case a.leads != "":
		return "install it where PATH leads to, or put the directory that the link leads to into PATH"
	case isAgent:
		return "install it, for example with npm install -g " + from
	}
	return "install it"
}

// absentPrograms lists the programs of the plan's commands that commands do not find. One in the repository is another matter,
// and setup may bring any.
func absentPrograms(s *run.Spec) (list []absent) {
	if s.Plan == nil || len(s.Project.Setup.Command) > 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, t := range s.Plan.Tasks {
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
		switch found, err := exec.LookPath(program); {
		case err != nil && !errors.Is(err, exec.ErrDot):
			list = append(list, absent{&role, program, ""})
		case err == nil && !filepath.IsAbs(program):
			if leads := sandbox.Hides(found, os.Environ()); leads != "" {
				list = append(list, absent{&role, program, leads})
			}
		}
	}
	return list
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

// programNotices say of the plan's commands which programs are not there, where a model goes on without them, and of a dry run.
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
