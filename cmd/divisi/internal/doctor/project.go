package doctor

import (
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/settings"
	"divisi/orchestrator/store"
	"divisi/subagents/mcp"
)

// Settings are the project that runs use.
func (o Options) Settings(ctx context.Context) (*settings.Settings, error) {
	return settings.Of(ctx, o.Store, o.Top, o.Project)
}

// checkProject checks the repository's own files and what they need: keys, gates, roles.
func (o Options) checkProject(ctx context.Context) []Finding {
	set, rolesErr := configs.RolesWith(o.Top, nil)
	s, projectErr := o.Settings(ctx)
	var found []Finding
	var misfits error
	if projectErr == nil {
		misfits = errors.Join(s.Check(&set), set.Fit(&s.Project))
	}
	for _, err := range []error{projectErr, rolesErr, misfits} {
		if err != nil {
			found = append(found, bad("config", "fix the file; divisi config and divisi roles validate check it", "%v", err))
		}
	}
	if len(set.Broken) > 0 {
		found = append(found, broken(set.Broken))
	}
	for _, s := range set.Skipped {
		found = append(found, warn("config", "", "%s was not loaded as a role: %s", s.File, s.Why))
	}
	if len(found) == 0 {
		found = []Finding{fine("config", "%d roles; see divisi roles and divisi config", len(set.Roles))}
	}
	if projectErr != nil {
		return found
	}
	if s.Place != "" {
		found = append(found, fine("config", "%s", s.Place))
	}
	p := s.Project
	g, checkout, unread := inspect(ctx, o.Store, o.Repo)
	t := o.Trust(ctx)
	return slices.Concat(found, t.findings(), o.writable(checkout), o.clone(ctx, g, checkout),
		o.keys(ctx, p, t.Trusted), toolServers(p, set.Roles), o.gates(ctx, p, g, checkout, unread))
}

// broken counts the role files with errors, and names the first error. One with the name of a built-in role stops every run that
// needs it, and one whose name could not be read stops every run.
func broken(list []configs.Broken) Finding {
	find := warn
	if slices.ContainsFunc(list, func(b configs.Broken) bool { return b.Role == "" || spec.BuiltInRole(b.Role) }) {
		find = bad
	}
	return find("config", "fix them: divisi roles validate lists every error",
		"%s with errors, whose roles no run can use; the first: %s",
		text.Count(len(list), "role file"), list[0].First())
}

// inspect reads the repository that a directory is in.
func inspect(ctx context.Context, state store.Dir, dir string) (*git.Git, *git.Checkout, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, nil, err
	}
	c, err := state.Inspect(ctx, g, dir)
	if err != nil {
		return g, nil, err
	}
	return g, c, nil
}

func (t Trust) findings() []Finding {
	var found []Finding
	for _, r := range t.Requests {
		found = append(found, fine("trust", "requested: %s", r))
	}
	if t.Err != nil {
		found = append(found, warn("trust", "", "%v", t.Err))
	}
	if t.Trusted {
		return append(found, fine("trust", "%s", t.State))
	}
	return append(found, warn("trust", "", "%s", t.State))
}

// toolServers checks for each role whether the environment has the variables of its tool servers.
func toolServers(p spec.Project, roles map[string]spec.Role) []Finding {
	var found []Finding
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		role := roles[name]
		missing := mcp.CheckVariables(p.Servers(&role), os.Environ())
		for _, err := range missing {
			found = append(found, bad("mcp", "set it: without it every task of the role fails", "role %s: %v", name, err))
		}
		if len(role.MCPServers) > 0 && len(missing) == 0 {
			found = append(found, fine("mcp", "role %s: the environment has the variables of its tool servers (%s)",
				name, strings.Join(slices.Sorted(maps.Keys(role.MCPServers)), ", ")))
		}
	}
	return found
}

// writable reports a repository in which a result could not be published.
func (o Options) writable(c *git.Checkout) []Finding {
	if c == nil {
		return nil
	}
	if err := c.Writable(); err != nil {
		return []Finding{bad("repository", o.Hint(err), "%v", err)}
	}
	return nil
}

// clone reports what a partial clone or a sparse checkout lacks for runs on the commit that is checked out.
func (o Options) clone(ctx context.Context, g *git.Git, c *git.Checkout) []Finding {
	if c == nil {
		return nil
	}
	var found []Finding
	for _, err := range []error{g.Lacks(ctx, c, c.Head), g.CheckSparse(ctx, c, ".divisi")} {
		if err != nil {
			lines := strings.Split(err.Error()+"\n"+o.Hint(err), "\n")
			found = append(found, bad("clone", strings.Trim(strings.Join(lines[1:], "; "), "; "), "%s", lines[0]))
		}
	}
	return found
}

// MissingVariables are the errors of a role's tool servers that need a variable which is not set.
func MissingVariables(p *spec.Project, role *spec.Role) []error {
	return mcp.CheckVariables(p.Servers(role), os.Environ())
}

// RoleNotes are hints about a role of a project that are not errors.
func RoleNotes(project *spec.Project, role *spec.Role) []string {
	return needs.RoleNotes(project, role)
}

// Head is the commit that is checked out in the repository that a directory is in.
func Head(ctx context.Context, stateDir, dir string) (string, error) {
	_, c, err := inspect(ctx, store.Dir{Path: stateDir}, dir)
	if err != nil {
		return "", err
	}
	return c.Head, nil
}
