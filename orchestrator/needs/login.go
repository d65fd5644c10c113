package needs

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model/login"
	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/orchestrator/store"
)

// UseAgent has a coding agent take the built-in roles: with the key that its role names, or, where that is not set, with what the
// agent keeps in a file.
func UseAgent(set *configs.RoleSet, agent string) error {
	if err := set.UseAgent(agent); err != nil {
		return err
	}
	kept := keptBy(agent, set.Roles[spec.RoleGenerator].Secrets)
	if kept == nil {
		return nil
	}
	for name, role := range set.Roles {
		if role.Usage == agent && role.Source == set.Roles[spec.RoleGenerator].Source {
			role.Secrets = []string{kept.Name}
			set.Roles[name] = role
		}
	}
	return nil
}

// keptBy is what an agent keeps in a file, where none of the variables that its role names is set; nil for nothing.
func keptBy(agent string, named []string) *login.Kept {
	if slices.ContainsFunc(named, func(name string) bool { return os.Getenv(name) != "" }) {
		return nil
	}
	kept, err := login.Find(agent)
	if err != nil {
		return nil // the run tells the variable that it lacks, and this
	}
	return kept
}

// risk is what a person agrees to with the file of an agent.
func risk(agent string, k *login.Kept) string {
	path := strconv.QuoteToASCII(k.Path)
	if k.Value != login.Mark+k.Path {
		return fmt.Sprintf("your key of %s in %s: Divisi calls the service with it", agent, path)
	}
	return fmt.Sprintf("your login of %s in %s: Divisi calls the service with its token, and replaces both tokens in the file "+
		"as "+
		"they run out; a machine that fails in that moment logs you out", agent, path)
}

// Login are the variables, NAME=value, for what coding agents of a run keep in files, where this process has no variable of the
// name and a person has agreed.
func Login(state store.Dir, c *git.Checkout, s *run.Spec) (given []string) {
	for _, agent := range spec.CodingAgents() {
		for _, role := range s.Roles {
			if role.Gateway == "" || role.Usage != agent {
				continue
			}
			kept := keptBy(agent, role.Secrets)
			if kept == nil || !slices.Contains(role.Secrets, kept.Name) || c == nil {
				continue
			}
			line := []string{risk(agent, kept)}
			if all, err := state.Decisions(c); err == nil {
				if d, err := all.List(trust.Roles, line).Read(); err == nil && d.Covers(line) {
					given = append(given, kept.Name+"="+kept.Value)
				}
			}
			break
		}
	}
	return given
}

// LoginTrustOf compares what a coding agent of a run keeps in a file, and its service is called with, with the decision about it.
func LoginTrustOf(ctx context.Context, stateDir, dir, agent string) (*Trust, error) {
	t := &Trust{Repo: dir, Found: true, Trusted: true}
	set, err := configs.RolesWith(dir, nil)
	if err == nil {
		err = set.UseAgent(agent)
	}
	if err != nil {
		return t, err
	}
	kept := keptBy(agent, set.Roles[spec.RoleGenerator].Secrets)
	if kept == nil {
		return t, nil
	}
	t, err = TrustOf(ctx, stateDir, dir, []string{risk(agent, kept)}, nil)
	if t.store != nil {
		t.store = t.store.List(trust.Roles, t.Requests)
	}
	return t, errors.Join(err, t.again())
}

// unset is the error of a role that lacks a variable.
func unset(role *spec.Role, name string) error {
	lacks := fmt.Sprintf("role %s needs %s, which is not set: export it, and start again", role.Name, name)
	kept, err := login.Find(role.Usage)
	switch {
	case err != nil:
		return usage.Errorf("%s\n%v", lacks, err)
	case kept != nil && kept.Name == name:
		return usage.With(usage.Errorf("%s\nWhat %s keeps in %s serves too, once you agree", lacks, role.Usage, kept.Path),
			usage.Login, role.Usage)
	}
	return usage.Errorf("%s", lacks)
}
