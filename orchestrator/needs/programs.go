package needs

import (
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
)

// agentPackages are where coding agents come from.
var agentPackages = map[string]string{
	spec.AgentClaude: "npm install -g @anthropic-ai/claude-code", spec.AgentCodex: "npm install -g @openai/codex",
	spec.AgentGemini: "npm install -g @google/gemini-cli", spec.AgentOpencode: "npm install -g opencode-ai",
}

// absent is a program that a role of the plan runs, and that is not there.
type absent struct {
	role    *spec.Role
	program string
}

// absentPrograms lists the programs of the plan's commands that are not there. One in the repository is another matter, and setup
// may bring any.
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
		if _, err := exec.LookPath(program); err != nil && !errors.Is(err, exec.ErrDot) {
			list = append(list, absent{&role, program})
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
		how := "install it"
		if from := agentPackages[a.role.Usage]; from != "" && filepath.Base(a.program) == a.role.Usage {
			how = fmt.Sprintf("install it, for example with %s", from)
		}
		return usage.Errorf("the program %s of role %s is not on PATH, and no setup installs it: %s, and start again",
			a.program, a.role.Name, how)
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
		notices = append(notices, fmt.Sprintf("the program %s of role %s is not on PATH, and no setup installs it: %s",
			a.program, a.role.Name, what))
	}
	return notices
}
