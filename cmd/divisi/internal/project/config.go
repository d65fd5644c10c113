package project

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/orchestrator/console/display"
)

// NewConfig makes divisi config.
func NewConfig(g *Globals) *cobra.Command {
	var repo, named string
	c := &cobra.Command{
		Use:   "config",
		Short: "Show a repository's configuration with every default filled in",
		Long: `Show what .divisi/divisi.yaml of a repository means, with every default filled in, and what its files
request beyond confined commands without network (divisi trust). No file is needed: everything has a
default. A comment lists the file and the line of each value that is no default. Every error of the
file is reported with its line and column.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi config\n  divisi config --repo ../other --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.config(c.Context(), repo, named) },
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	runs.ProjectFlag(c.Flags(), &named)
	c.AddCommand(newConfigSchema(g))
	return c
}

// config shows the project file, and what the repository requests: as a comment, so that the text stays a project file. divisi
// roles validate reports errors of role files; such a role requests nothing, because no run begins with it.
func (g *Globals) config(ctx context.Context, repo, project string) error {
	named, err := runs.NamedProject(project)
	if err == nil {
		err = cli.CheckDir(repo)
	}
	if err != nil {
		return err
	}
	t, rolesErr := g.TrustingWith(ctx, cli.Top(repo), nil, named)
	s := t.Settings
	if s == nil {
		return rolesErr
	}
	text, err := configs.YAML(s.Project)
	if err != nil {
		return err
	}
	about := origins(t) + t.Text() + "trust: " + g.Calls(t.State())
	if rolesErr != nil {
		about += "\nthe role files have errors, and their requests may be missing here; see: divisi roles validate"
	}
	return g.Print(cli.Say("%s# %s\n", text, strings.ReplaceAll(about, "\n", "\n# ")), struct {
		spec.Project
		From     map[string]string `json:"from,omitempty"`
		Requests []string          `json:"requests,omitempty"`
		Trusted  bool              `json:"trusted"`
	}{s.Project, s.From, t.Requests, t.Trusted})
}

// origins are lines that tell where each value comes from.
func origins(t *runs.Trust) string {
	var b strings.Builder
	s := t.Settings
	if s.Place != "" {
		b.WriteString(s.Place + "\n")
	}
	for _, field := range slices.Sorted(maps.Keys(s.From)) {
		fmt.Fprintf(&b, "%s: %s\n", field, s.From[field])
	}
	b.WriteString("all other values are defaults\n")
	return display.SanitizeLines(b.String())
}
