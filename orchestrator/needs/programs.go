package needs

import (
	"errors"
	"fmt"
	"os/exec"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// programNotices say of the plan's commands which programs are not there. One in the repository is another matter, and setup may
// bring any.
func programNotices(s *run.Spec) []string {
	if s.Plan == nil || len(s.Project.Setup.Command) > 0 {
		return nil
	}
	var notices []string
	seen := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		role := s.Roles[t.Role]
		command := role.Command
		if len(t.Command) > 0 {
			command = t.Command
		}
		if len(command) == 0 || !role.Runs(spec.ExecutorCommand) || seen[role.Name+" "+command[0]] {
			continue
		}
		seen[role.Name+" "+command[0]] = true
		if _, err := exec.LookPath(command[0]); strings.Contains(command[0], "/") || !errors.Is(err, exec.ErrNotFound) {
			continue
		}
		what := "its tasks will fail"
		if role.Runs(spec.ExecutorModel) {
			what = "its tasks all go to the model"
		}
		notices = append(notices, fmt.Sprintf("the program %s of role %s is not in PATH, and no setup installs it: %s",
			command[0], role.Name, what))
	}
	return notices
}
