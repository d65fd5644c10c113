package mcpserver

import (
	"context"
	"maps"
	"slices"
	"strings"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// usualRoles and mostRoles bound a page of the roles.
	usualRoles = 50
	mostRoles  = 200
)

type rolePage struct {
	Roles     []role   `json:"roles" jsonschema:"Those that a plan can name here: Divisi's own, and those of the repository's files."`
	Total     int      `json:"total"`
	Next      int      `json:"next_offset,omitempty" jsonschema:"The offset of the next page; left out at the end."`
	NotLoaded []string `json:"not_loaded,omitempty" jsonschema:"Files that could not be loaded as roles, and why."`
}

type role struct {
	Name        string `json:"name"`
	Description string `json:"description,omitempty"`
	Runs        string `json:"runs" jsonschema:"What does its tasks: a model, which needs a key and uses tokens, or a command."`
	Writes      bool   `json:"writes,omitempty" jsonschema:"Its tasks change files."`
	Source      string `json:"source"`
}

// roles lists what a plan can name.
func (s *Server) roles(_ context.Context, _ caller, in page) (out rolePage, err error) {
	set, err := configs.RolesWith(s.opts.Repo, nil)
	if err != nil {
		return out, err
	}
	maps.DeleteFunc(set.Roles, func(name string, _ spec.Role) bool { return name == spec.RoleMaster || name == spec.RoleTester })
	names := slices.Sorted(maps.Keys(set.Roles))
	shown, next, err := of(names, in, usualRoles, mostRoles)
	out = rolePage{Roles: []role{}, Total: len(names), Next: next}
	for _, name := range shown {
		r := set.Roles[name]
		runs := strings.Join(r.Executors(), ", then ")
		out.Roles = append(out.Roles, role{name, text.Clip(r.Description, text.MaxLine), runs, r.ChangesFiles(), r.Source})
	}
	for _, f := range set.Skipped {
		out.NotLoaded = append(out.NotLoaded, f.File+": "+f.Why)
	}
	for _, b := range set.Broken {
		out.NotLoaded = append(out.NotLoaded, b.First())
	}
	out.NotLoaded = few(out.NotLoaded)
	return out, err
}
