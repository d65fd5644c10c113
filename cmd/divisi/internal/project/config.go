package project

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/spec"
)

// NewConfig makes divisi config.
func NewConfig(g *Globals) *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use:   "config",
		Short: "Show a repository's configuration with every default filled in",
		Long: `Show what .divisi/divisi.yaml of a repository means, with every default filled in, and what its files
request beyond confined commands without network (divisi trust). No file is needed: everything has a
default. Every error of the file is reported with its line and column.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi config\n  divisi config --repo ../other --output json",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.config(c.Context(), repo) },
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	c.AddCommand(newConfigSchema(g))
	return c
}

// config shows the project file, and what the repository requests: as a comment, so that the text stays a project file. divisi
// roles validate reports errors of role files; such a role requests nothing, because no run begins with it.
func (g *Globals) config(ctx context.Context, repo string) error {
	if err := cli.CheckDir(repo); err != nil {
		return err
	}
	where := cli.Top(repo)
	p, err := configs.Project(where)
	if err != nil {
		return err
	}
	t, rolesErr := g.Trusting(ctx, repo, nil)
	if t.Paths != nil {
		p.Environment = spec.Environment{Paths: t.Paths}
	}
	text, err := configs.YAML(p)
	if err != nil {
		return err
	}
	about := t.Text() + "trust: " + g.Calls(t.State())
	if rolesErr != nil {
		about += "\nthe role files have errors, and their requests may be missing here; see: divisi roles validate"
	}
	return g.Print(cli.Say("%s# %s\n", text, strings.ReplaceAll(about, "\n", "\n# ")), struct {
		spec.Project
		Requests []string `json:"requests,omitempty"`
		Trusted  bool     `json:"trusted"`
	}{p, t.Requests, t.Trusted})
}
