package spec

import (
	"fmt"
	"path"
	"slices"
)

// The words of Organisation.Forbid.
const (
	ForbidServices   = "services"
	ForbidUnverified = "allow-unverified"
)

// Organisation is /etc/divisi/policy.yaml: what an organisation forbids for all runs of a machine, and presets for them. A list
// that is left out forbids nothing, an empty one all of its kind. The lists mean what those of Policy do.
type Organisation struct {
	Network   []string `json:"network,omitzero" jsonschema:"The only hosts that setup, roles, tool servers and models may reach: names, *.example.com, * for all public ones, addresses, ranges, and localhost."`
	Secrets   []string `json:"secrets,omitzero" jsonschema:"The only variables that roles, tool servers and models may have as secrets."`
	Variables []string `json:"variables,omitzero" jsonschema:"The only variables that commands may see."`
	Models    []string `json:"models,omitzero" jsonschema:"The only models that roles may call, by their names, as globs."`
	Forbid    []string `json:"forbid,omitempty" jsonschema:"services: gates have no programs beside them. allow-unverified: changes that no gate proves never land."`
	Preset    Project  `json:"preset,omitzero" jsonschema:"Fields of the project file that count where it leaves them out."`
}

// Policy has the lists that a policy of a machine's owner has too.
func (r *Organisation) Policy() *Policy {
	return &Policy{Network: r.Network, Secrets: r.Secrets, Variables: r.Variables}
}

// Validate returns every fault of the file but for those of Preset.
func (r *Organisation) Validate() []Problem {
	v := &problems{list: r.Policy().Validate()}
	for i, glob := range r.Models {
		if _, err := path.Match(glob, ""); err != nil || glob == "" {
			v.addf(fmt.Sprintf("models[%d]", i), "", "%q is no name of a model, nor a glob of such", glob)
		}
	}
	for i, word := range r.Forbid {
		v.oneOf(fmt.Sprintf("forbid[%d]", i), "forbid", word, ForbidServices, ForbidUnverified)
	}
	return v.list
}

// Forbids reports whether a word of Forbid is there; it may be nil.
func (r *Organisation) Forbids(word string) bool { return r != nil && slices.Contains(r.Forbid, word) }

// Calls reports whether a model may be called, by its name; it may be nil.
func (r *Organisation) Calls(model string) bool {
	return r == nil || r.Models == nil || slices.ContainsFunc(r.Models, func(glob string) bool {
		ok, err := path.Match(glob, model)
		return ok && err == nil
	})
}
