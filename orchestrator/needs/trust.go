package needs

import (
	"context"
	"fmt"
	"slices"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/trust"
	"divisi/orchestrator/run"
	"divisi/orchestrator/settings"
)

// Settings are the project of a repository.
type Settings = settings.Settings

// Continues refuses to continue a run whose project, or a role that it uses, an organisation has forbidden since it began;
// unverified reports that it is to land what no gate proves.
func Continues(s *run.Spec, unverified bool) error {
	roles := map[string]spec.Role{}
	for name, role := range s.Roles {
		if usesRole(s, name) {
			roles[name] = role
		}
	}
	return settings.Continues(&s.Project, roles, unverified)
}

// Requests lists what the files of a repository request; see trust.Requests. Where the project takes all ignored paths of the
// checkout, it names them from now on: what a person is shown is what is taken. checkout is nil for a directory that is no
// repository. What a project that a person gave asks for by itself is not listed, only what the repository's roles do with it.
func Requests(
	ctx context.Context, checkout *git.Checkout, s *settings.Settings, roles map[string]spec.Role,
) ([]string, error) {
	project := &s.Project
	if checkout != nil && project.Environment.Word != "" {
		g, err := git.New(ctx)
		if err != nil {
			return nil, err
		}
		ignored, err := g.Ignored(ctx, checkout)
		if err == nil {
			err = project.Environment.Name(ignored)
		}
		if err != nil {
			return nil, fmt.Errorf("environment: %s of .divisi/divisi.yaml: %w", spec.EnvironmentCheckout, err)
		}
	}
	requests := trust.Requests(project, roles)
	if !s.Own {
		return requests, nil
	}
	own := trust.Requests(project, nil)
	return slices.DeleteFunc(requests, func(r string) bool { return slices.Contains(own, r) }), nil
}

// More reports whether a role may do more than any role of a repository may do unasked.
func More(r spec.Role) bool {
	return len(r.Secrets) > 0 || len(trust.Requests(&spec.Project{}, map[string]spec.Role{r.Name: r})) > 0
}
