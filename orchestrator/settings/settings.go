// Package settings finds the project of a repository: in a file that a person names, in the repository, or in the one
// that the state directory keeps for all clones of one remote; over what an organisation presets, and within what it permits.
package settings

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/fit"
	"divisi/orchestrator/store"
)

// Settings are a project, with where it comes from.
type Settings struct {
	spec.Project
	// Place reports where the project comes from, where that is not the repository's own file; "" else.
	Place string
	// Own reports that a person has given it for this checkout: what it asks for needs no other yes.
	Own bool
	// From has the file and the line of each field that is set, of a table those of its fields.
	From map[string]string
	// Organisation is what one forbids on this machine; nil for nothing.
	Organisation *spec.Organisation
}

// Read reads the project of a checkout: that of the file that a person named, else its own, else the one that is kept for it.
func Read(state store.Dir, c *git.Checkout, named *configs.File) (*Settings, error) {
	s, file, err := &Settings{Own: named != nil}, named, error(nil)
	if named != nil {
		s.Place = "the project file is the one that you named: " + named.Name
	} else if file, err = configs.ProjectFile(c.Top); err == nil && file == nil {
		file, err = s.kept(state, c)
	}
	if err != nil {
		return nil, err
	}
	o, err := configs.ReadOrganisation(fit.OrganisationFile)
	if err != nil {
		return nil, err
	}
	if s.Project, s.From, err = o.Project(file); o != nil {
		s.Organisation = &o.Organisation
	}
	return s, err
}

// kept reads what is kept for a checkout. A state directory inside the repository is none of the person's: a run refuses it.
func (s *Settings) kept(state store.Dir, c *git.Checkout) (*configs.File, error) {
	if state.Path == "" {
		return nil, nil
	}
	if _, err := state.Decisions(c); err != nil {
		return nil, nil
	}
	k, err := At(state, c)
	if err != nil {
		return nil, err
	}
	file, own, err := k.read()
	if file != nil {
		s.Own, s.Place = own, "the project file is the one that is kept for this repository: "+file.Name
	}
	return file, err
}

// Of reads the project of the repository that a directory is in; a directory that is in none has no settings that are kept.
func Of(ctx context.Context, state store.Dir, dir string, named *configs.File) (*Settings, error) {
	g, err := git.New(ctx)
	if err != nil {
		return nil, err
	}
	c, err := state.Inspect(ctx, g, dir)
	if err != nil {
		state, c = store.Dir{}, &git.Checkout{Top: dir}
	}
	return Read(state, c, named)
}

// Check refuses a project that an organisation does not permit, and takes from the roles those that may not be used: a run that
// names one is refused. Built-in ones stay, for the runs that do not need them.
func (s *Settings) Check(set *configs.RoleSet) error {
	if lacks := fit.Forbidden(s.Organisation, &s.Project); len(lacks) > 0 {
		return usage.Errorf("%s does not permit what the project asks for: %s", fit.OrganisationFile, strings.Join(lacks, ", "))
	}
	denied := fit.ForbiddenRoles(s.Organisation, &s.Project, set.Roles)
	for _, name := range slices.Sorted(maps.Keys(denied)) {
		err := usage.Errorf("%s does not permit role %s: %s", fit.OrganisationFile, name, strings.Join(denied[name], ", "))
		set.Broken = append(set.Broken, configs.Broken{Role: name, File: set.Roles[name].Source, Err: err})
		if !spec.BuiltInRole(name) {
			delete(set.Roles, name)
		}
	}
	return nil
}

// Continues refuses to continue a run of a project, or with roles, that an organisation has forbidden since it began.
func Continues(project *spec.Project, roles map[string]spec.Role, unverified bool) error {
	o, err := configs.ReadOrganisation(fit.OrganisationFile)
	if o == nil || err != nil {
		return err
	}
	s, set := Settings{Project: *project, Organisation: &o.Organisation}, configs.RoleSet{Roles: roles}
	err = errors.Join(s.Unverified(unverified), s.Check(&set))
	for _, broken := range set.Broken {
		err = errors.Join(err, broken.Err)
	}
	return err
}

// Unverified refuses the option to land what no gate proves, where an organisation forbids it.
func (s *Settings) Unverified(wanted bool) error {
	if wanted && s.Organisation.Forbids(spec.ForbidUnverified) {
		return usage.Errorf("%s forbids %s and allow-unread: what no gate proves does not land here", fit.OrganisationFile,
			spec.ForbidUnverified)
	}
	return nil
}
