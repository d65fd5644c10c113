package fit

import (
	"fmt"
	"slices"

	"divisi/configs"
	"divisi/internal/egress"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
)

// OrganisationFile is what an organisation forbids and presets on this machine. Tests name another one.
var OrganisationFile = "/etc/divisi/policy.yaml"

// Forbidden lists what a project asks for that an organisation, which may be nil, does not permit, whatever the roles are.
func Forbidden(o *spec.Organisation, project *spec.Project) []string {
	if o == nil {
		return nil
	}
	lacks := forbids(o, project, &spec.Role{})
	if o.Forbids(spec.ForbidServices) && len(project.Services) > 0 {
		lacks = append(lacks, "services (forbid)")
	}
	return lacks
}

// ForbiddenRoles lists what each role asks for beside its project that an organisation does not permit, by role. A role that asks
// for nothing more is not there.
func ForbiddenRoles(o *spec.Organisation, project *spec.Project, roles map[string]spec.Role) map[string][]string {
	if o == nil {
		return nil
	}
	lacking, every := map[string][]string{}, forbids(o, project, &spec.Role{})
	for name, r := range roles {
		lacks := forbids(o, project, &r)
		if r.Runs(spec.ExecutorModel) {
			called := append([]string{r.Model}, r.Fallback...)
			for _, alias := range modelsOf(project, &r) {
				called = append(append(called, alias), project.Models[alias].Fallback...)
			}
			for _, alias := range called {
				if model := project.ModelName(alias); !o.Calls(model) {
					lacks = append(lacks, fmt.Sprintf("the model %.80s (models)", model))
				}
			}
		}
		slices.Sort(lacks)
		lacks = slices.DeleteFunc(slices.Compact(lacks), func(lack string) bool { return slices.Contains(every, lack) })
		if len(lacks) > 0 {
			lacking[name] = lacks
		}
	}
	return lacking
}

// forbids lists the denials of the lists that the organisation gives.
func forbids(o *spec.Organisation, project *spec.Project, r *spec.Role) (lacks []string) {
	p := o.Policy()
	given := map[string]bool{"network": p.Network != nil, "secrets": p.Secrets != nil, "variables": p.Variables != nil}
	for _, d := range slices.Concat(networks(p, project, r), variables(p, project, r)) {
		if given[d.field] {
			lacks = append(lacks, fmt.Sprintf("%s (%s)", d.what, d.field))
		}
	}
	return lacks
}

// OwnGrants are the resources that an organisation leaves to commands of this machine's own runs.
func OwnGrants() (grants sandbox.Owner, err error) {
	o, err := configs.ReadOrganisation(OrganisationFile)
	if o != nil && err == nil && o.Network != nil {
		grants.Reach = append(egress.Reach{}, o.Network...)
	}
	return grants, err
}
