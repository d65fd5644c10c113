package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/console"
)

func newRoles(g *globals) *cobra.Command {
	var repo string
	var files []string
	c := &cobra.Command{
		Use:   "roles [NAME]",
		Short: "List the roles, or show one",
		Long: `List the roles that a plan can name here: the built-in ones, then those of .divisi/roles/*.md in the
repository, then --role files; later wins by name. Every fault of a role file is reported.` + codes(codeOK, codeUsage),
		Example: "  divisi roles\n  divisi roles generator\n  divisi roles --role my-role.md",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := checkDir(repo); err != nil {
				return err
			}
			roles, err := configs.Roles(top(repo), files)
			if err != nil {
				return err //nolint:wrapcheck // it names file, line and column
			}
			if len(args) == 1 {
				return g.showRole(roles, args[0])
			}
			return g.listRoles(roles)
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository whose roles are read as well")
	c.Flags().StringSliceVar(&files, "role", nil, "a further role file; may be repeated")
	return c
}

func (g *globals) listRoles(roles map[string]spec.Role) error {
	w := tabwriter.NewWriter(g.out, 0, 0, 2, ' ', 0)
	for _, name := range slices.Sorted(maps.Keys(roles)) {
		r := roles[name]
		if g.json() {
			if err := json.NewEncoder(g.out).Encode(r); err != nil {
				return fmt.Errorf("print role %s: %w", name, err)
			}
			continue
		}
		executor := r.Executor
		if executor == "" {
			executor = "gates"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", name, executor, console.Sanitize(oneLine(r.Description)), console.Sanitize(r.Source))
	}
	return w.Flush() //nolint:wrapcheck // the terminal
}

func (g *globals) showRole(roles map[string]spec.Role, name string) error {
	r, ok := roles[name]
	if !ok {
		names := slices.Sorted(maps.Keys(roles))
		return usagef("there is no role %q%s; the roles are %s", name, nearest(name, names), strings.Join(names, ", "))
	}
	if g.json() {
		return json.NewEncoder(g.out).Encode(r) //nolint:wrapcheck // the terminal
	}
	fmt.Fprintf(g.out, "name         %s\nsource       %s\ndescription  %s\nexecutor     %s\n",
		r.Name, console.Sanitize(r.Source), console.Sanitize(oneLine(r.Description)), r.Executor)
	for _, f := range []struct{ key, value string }{
		{"command", strings.Join(r.Command, " ")},
		{"model", r.Model},
		{"tools", strings.Join(r.Tools, ", ")},
		{"inherits", string(r.IncludeContents)},
		{"writes", fmt.Sprint(r.Writes)},
		{"inputs", strings.Join(r.Inputs, ", ")},
		{"limits", limitsText(r.Limits)},
		{"context", shownUnlessZero(r.Context)},
		{"tool_output", shownUnlessZero(r.ToolOutput)},
	} {
		if f.value != "" {
			fmt.Fprintf(g.out, "%-11s  %s\n", f.key, console.Sanitize(f.value))
		}
	}
	_, err := fmt.Fprintf(g.out, "\n%s\n", sanitizeLines(r.Instruction))
	return err //nolint:wrapcheck // the terminal
}

// limitsText names the limits that a role sets itself; the project's hold for the others.
func limitsText(l spec.Limits) string {
	var out []string
	if l.Turns > 0 {
		out = append(out, fmt.Sprintf("%d turns", l.Turns))
	}
	if l.Tokens > 0 {
		out = append(out, fmt.Sprintf("%d tokens", l.Tokens))
	}
	if l.Time > 0 {
		out = append(out, l.Time.String())
	}
	return strings.Join(out, ", ")
}

// shownUnlessZero is a setting as JSON; nothing where it says nothing.
func shownUnlessZero(v any) string {
	if reflect.ValueOf(v).IsZero() {
		return ""
	}
	return inline(v)
}
