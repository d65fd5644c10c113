package main

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
	"divisi/subagents/mcp"
)

// skippedRoles says of every task whose role would come from a file that makes none why it does not.
func skippedRoles(plan spec.Plan, skipped []configs.Skipped) []spec.Problem {
	var problems []spec.Problem
	for i, t := range plan.Tasks {
		for _, s := range skipped {
			if s.Role != "" && s.Role == t.Role {
				problems = append(problems, spec.Problem{
					Path: fmt.Sprintf("tasks[%d].role", i), Message: fmt.Sprintf("%s makes no role here: %s", s.File, s.Why),
				})
			}
		}
	}
	return problems
}

// roleNotices say what the run does not honour of imported roles: all of it for those that a plan names; a master may come to
// name any, so that a run with a goal tells only where to look.
func roleNotices(s run.Spec) []string {
	var notices []string
	if s.Plan == nil {
		for _, name := range slices.Sorted(maps.Keys(s.Roles)) {
			if n := len(s.Roles[name].Notices); n > 0 {
				notices = append(notices, fmt.Sprintf("role %s is %s, of which %d things are not honoured: divisi roles show %s",
					name, s.Roles[name].Source, n, name))
			}
		}
		return append(notices, serverNotices(s)...)
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
	return append(notices, serverNotices(s)...)
}

// needServers fails before anything is written when a role that the plan can come to has a tool server that could not be started
// for want of a variable: every attempt of the role would fail. Before a master has planned, only its own are sure to be needed.
func needServers(s run.Spec) error {
	for _, name := range rolesOf(s, false) {
		role := s.Roles[name]
		if s.Plan == nil && name != spec.RoleMaster {
			continue
		}
		if faults := mcp.CheckVariables(s.Project.Servers(&role), os.Environ()); len(faults) > 0 {
			return usagef("role %s: %v", name, errors.Join(faults...))
		}
	}
	return nil
}

// serverNotices tell which roles had better not be asked for: by a master, or by an agent that may ask any.
func serverNotices(s run.Spec) []string {
	var notices []string
	for _, name := range modelRoles(s) {
		role := s.Roles[name]
		for _, err := range mcp.CheckVariables(s.Project.Servers(&role), os.Environ()) {
			notices = append(notices, fmt.Sprintf("tasks of role %s would fail: %v", name, err))
		}
	}
	return notices
}

// needSecrets fails before anything is written when a role of the plan names a variable that is not set.
func needSecrets(s run.Spec) error {
	if s.Plan == nil {
		return nil
	}
	for _, t := range s.Plan.Tasks {
		for _, role := range []string{t.Role, t.Verify} {
			for _, name := range s.Roles[role].Secrets {
				if os.Getenv(name) == "" {
					return usagef("role %s needs %s, which is not set: export it, and start again", role, name)
				}
			}
		}
	}
	return nil
}
