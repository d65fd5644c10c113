package needs

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/orchestrator/settings"
	"divisi/orchestrator/store"
	"divisi/subagents/mcp"
)

// Skipped says of every task whose role would come from a file that makes none why it does not.
func Skipped(plan spec.Plan, skipped []configs.Skipped) []spec.Problem {
	var problems []spec.Problem
	for i, t := range plan.Tasks {
		for _, s := range skipped {
			if s.Role != "" && s.Role == t.Role {
				problems = append(problems, spec.Problem{
					Path:    fmt.Sprintf("tasks[%d].role", i),
					Message: fmt.Sprintf("%s was not loaded as a role: %s", s.File, s.Why),
				})
			}
		}
	}
	return problems
}

// Notices report which fields of imported roles the run ignores: each for the roles that a plan names. A master can name any
// role, so that a run with a goal gets a count.
func Notices(s *run.Spec) []string {
	var notices []string
	if s.Plan == nil {
		for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
			if n := len(s.Roles[name].Notices); n > 0 {
				notices = append(notices, fmt.Sprintf("role %s (%s): %d of its settings are ignored",
					name, s.Roles[name].Source, n))
			}
		}
		return slices.Concat(notices, serverNotices(s), programNotices(s), testerNotice(s), exitNotices(s), outside(s))
	}
	seen := map[string]bool{}
	for _, t := range s.Plan.Tasks {
		for _, name := range []string{t.Role, t.Verify} {
			if role := s.Roles[name]; len(role.Notices) > 0 && !seen[name] {
				notices = append(notices, fmt.Sprintf("role %s (%s): %s", name, role.Source, strings.Join(role.Notices, "; ")))
			}
			seen[name] = true
		}
	}
	return slices.Concat(notices, serverNotices(s), programNotices(s), testerNotice(s), exitNotices(s), outside(s))
}

// Broken returns the errors of the role files that cannot be used and that the run needs: a task, a judge or a delegate has the
// role, or its name could not be read, so that it can be any. Of the others it returns notices.
func Broken(s *run.Spec, broken []configs.Broken) (notices []string, err error) {
	var errs []error
	for _, b := range broken {
		if b.Role == "" || usesRole(s, b.Role) {
			errs = append(errs, b.Err)
			continue
		}
		notices = append(notices, fmt.Sprintf("role %s of %s cannot be used, and this run does not name it: %s", b.Role,
			b.File, b.First()))
	}
	return notices, errors.Join(errs...)
}

// usesRole reports whether a run can come to tasks or judges of a role. A master can name any: only what is built in is sure to
// be needed.
func usesRole(s *run.Spec, name string) bool {
	if s.Plan == nil {
		return spec.BuiltInRole(name)
	}
	all := run.Spec{Roles: maps.Clone(s.Roles)}
	if _, is := all.Roles[name]; !is {
		all.Roles[name] = spec.Role{Name: name} // an agent that lists no delegates can name it
	}
	used := map[string]bool{}
	judged := len(s.Plan.Constraints) > 0
	for i := range s.Plan.Tasks {
		judged = judged || len(s.Plan.Tasks[i].Constraints) > 0
	}
	var use func(role string)
	use = func(name string) {
		role := all.Roles[name]
		if used[name] {
			return
		}
		used[name] = true
		if !asks(&role) {
			return
		}
		for _, callee := range all.Callees(&role) {
			use(callee)
			use((&spec.Task{}).Judge(all.Roles[callee], all.Roles, judged)) // constraints hold for delegated tasks too
		}
	}
	use(spec.RoleTester)
	for i := range s.Plan.Tasks {
		t := &s.Plan.Tasks[i]
		use(t.Role)
		use(t.Verify)
		use(t.Judge(s.Roles[t.Role], s.Roles, len(s.Plan.Constraints)+len(t.Constraints) > 0))
	}
	return used[name]
}

// asks reports whether the agents of a role can have other agents do tasks.
func asks(role *spec.Role) bool {
	return slices.Contains(role.Tools, spec.ToolDelegate) || slices.Contains(role.Tools, spec.ToolTransfer)
}

// Files reads the project and the roles of a repository, once: what a person is shown of them is what is used. named is a project
// file that the person names, nil for none.
func Files(
	state store.Dir, c *git.Checkout, roles []configs.File, named *configs.File,
) (configs.RoleSet, *settings.Settings, error) {
	set, rolesErr := configs.RolesWith(c.Top, roles)
	s, projectErr := settings.Read(state, c, named)
	if err := errors.Join(rolesErr, projectErr); err != nil {
		return set, nil, err
	}
	if err := s.Check(&set); err != nil {
		return set, nil, err
	}
	return set, s, set.Fit(&s.Project)
}

// Servers fails before anything is written when a role that the plan can come to has a tool server that could not be started
// without a variable: every attempt of the role would fail. Before a master has planned, only its own are sure to be needed.
func Servers(s *run.Spec) error {
	for _, name := range rolesOf(s, false) {
		role := s.Roles[name]
		if s.Plan == nil && name != spec.RoleMaster {
			continue
		}
		if faults := mcp.CheckVariables(s.Project.Servers(&role), os.Environ()); len(faults) > 0 {
			return usage.Errorf("role %s: %v", name, errors.Join(faults...))
		}
	}
	return nil
}

// serverNotices tell which roles had better not be asked for: by a master, or by an agent that may ask any.
func serverNotices(s *run.Spec) []string {
	var notices []string
	for _, name := range modelRoles(s) {
		role := s.Roles[name]
		for _, err := range mcp.CheckVariables(s.Project.Servers(&role), os.Environ()) {
			notices = append(notices, fmt.Sprintf("tasks of role %s would fail: %v", name, err))
		}
	}
	return notices
}

// Check fails before anything is written when the run could not work for lack of a variable or of a key; replay is as in Tape,
// and given are variables beside those of this process.
func Check(ctx context.Context, s *run.Spec, replay string, given []string) error {
	priced := errors.Join(Priced(s, s.Budget), Priced(s, s.Project.BudgetDay))
	if replay == "" && priced == nil { // a replay counts against no budget
		priced = errors.Join(Enough(s, s.Budget), Enough(s, s.Project.BudgetDay))
	}
	if err := errors.Join(Servers(s), secretsSet(s, given), Gates(s), programsThere(s), priced); err != nil {
		return err
	}
	return Callable(ctx, s, replay)
}

// secretsSet fails before anything is written when a role that the run is sure to need names a variable that is not set.
func secretsSet(s *run.Spec, given []string) error {
	all := append(os.Environ(), given...)
	for _, t := range sure(s) {
		for _, role := range []string{t.Role, t.Verify} {
			for _, name := range s.Roles[role].Secrets {
				if stage.Lookup(all, name) == "" {
					r := s.Roles[role]
					return unset(&r, name)
				}
			}
		}
	}
	return nil
}
