package project

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/console"
	"divisi/orchestrator/console/display"
)

// shownRole is a role as it takes effect in a repository.
type shownRole struct {
	spec.Role
	// Effective are the role's limits, and the project's where it sets none.
	Effective spec.Limits `json:"effective_limits,omitzero"`
	// ModelName and Provider are what the role's model is resolved to; empty for roles without one.
	ModelName string   `json:"model_name,omitempty"`
	Provider  string   `json:"provider,omitempty"`
	Problems  []string `json:"problems,omitempty"`
}

func (r *rolesCommand) show(ctx context.Context, name string) error {
	set, err := r.load()
	role, ok := set.Roles[name]
	if err != nil && (!ok || set.Breaks(name) || len(r.files) > 0) {
		return err
	}
	if !ok {
		return noRole(set, name)
	}
	project, err := r.project(ctx)
	if err != nil {
		return err
	}
	shown := shownRole{Role: role, Effective: role.Effective(project.Limits)}
	if role.Runs(spec.ExecutorModel) {
		shown.ModelName, shown.Provider = project.ModelName(role.Model), project.Model(role.Model).Provider
	}
	for _, p := range project.RoleProblems(&role) {
		p.Path = "" // it leads into a file, and what is shown is a role
		shown.Problems = append(shown.Problems, p.String())
	}
	for _, err := range doctor.MissingVariables(&project, &role) {
		shown.Problems = append(shown.Problems, err.Error())
	}
	shown.Notices = slices.Concat(role.Notices, doctor.RoleNotes(&project, &role))
	return r.Print(func(b *strings.Builder) error {
		for _, f := range shown.lines() {
			if f[1] != "" {
				fmt.Fprintf(b, "%-11s  %s\n", f[0], display.Sanitize(f[1]))
			}
		}
		fmt.Fprintf(b, "\n%s\n", display.SanitizeLines(role.Instruction))
		return nil
	}, shown)
}

// noRole lists the roles, and reports why a file of that name was not loaded.
func noRole(set configs.RoleSet, name string) error {
	for _, s := range set.Skipped {
		if s.Role == name {
			return usage.Errorf("role %q was not loaded from %s: %s", name, s.File, s.Why)
		}
	}
	names := slices.Sorted(maps.Keys(set.Roles))
	return usage.Errorf("there is no role %q%s; the roles are %s\nA role file in another place is named with --role FILE", name,
		cli.Nearest(name, names), strings.Join(names, ", "))
}

// lines are the fields of a role that are shown above its instruction, empty values included.
func (r *shownRole) lines() [][2]string {
	network := ""
	if r.Network {
		network = "open to its commands"
	}
	if len(r.Hosts) > 0 {
		network = "open to its command, to " + strings.Join(r.Hosts, ", ") + " alone"
	}
	if r.Loopback {
		network += ", this machine's own addresses too"
	}
	lines := [][2]string{
		{"name", r.Name},
		{"source", r.Source},
		{"description", r.Description},
		{"executor", executors(&r.Role)},
		{"command", text.CommandLine(r.Command)},
		{"each", shownUnlessZero(r.Each)},
		{"model", r.modelText()},
		{"fallback", strings.Join(r.Fallback, ", ")},
		{"thinking", r.Thinking},
		{"tier", r.Tier},
		{"tools", strings.Join(r.Tools, ", ")},
		{"mcp_servers", strings.Join(slices.Sorted(maps.Keys(r.MCPServers)), ", ")},
		{"delegates", strings.Join(r.Delegates, ", ")},
		{"inherits", string(r.IncludeContents)},
		{"join", shownUnlessZero(r.Join)},
		{"writes", strconv.FormatBool(r.Writes)},
		{"proves", r.Proves},
		{"network", network},
		{"secrets", strings.Join(r.Secrets, ", ")},
		{"usage", r.Usage},
		{"inputs", strings.Join(r.Inputs, ", ")},
		{"limits", console.Limits(r.Effective)},
		{"context", shownUnlessZero(r.Context)},
		{"tool_output", shownUnlessZero(r.ToolOutput)},
		{"output", string(r.Output)},
	}
	if r.Concurrency > 0 {
		lines = append(lines, [2]string{"concurrency", strconv.Itoa(r.Concurrency)})
	}
	for _, p := range r.Problems {
		lines = append(lines, [2]string{"problem", p})
	}
	for _, n := range r.Notices {
		lines = append(lines, [2]string{"note", n})
	}
	return lines
}

func (r *shownRole) modelText() string {
	switch {
	case r.ModelName == "":
		return ""
	case r.Model == r.ModelName:
		return r.ModelName
	case r.Model == "":
		return r.ModelName + " (the alias default)"
	default:
		return fmt.Sprintf("%s (the alias %s)", r.ModelName, r.Model)
	}
}

// shownUnlessZero is a setting as JSON, empty for its zero value.
func shownUnlessZero(v any) string {
	if reflect.ValueOf(v).IsZero() {
		return ""
	}
	return spec.JSONText(v)
}
