package needs

import (
	"context"
	"fmt"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/trust"
)

// Requests lists what the files of a repository request; see trust.Requests. Where the project takes all ignored paths of the
// checkout, it names them from now on: what a person is shown is what is taken. checkout is nil for a directory that is no
// repository.
func Requests(
	ctx context.Context, checkout *git.Checkout, project *spec.Project, roles map[string]spec.Role,
) ([]string, error) {
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
	return trust.Requests(project, roles), nil
}

// More reports whether a role may do more than any role of a repository may do unasked.
func More(r spec.Role) bool {
	return len(r.Secrets) > 0 || len(trust.Requests(&spec.Project{}, map[string]spec.Role{r.Name: r})) > 0
}
