package main

import (
	"encoding/json"

	"github.com/goccy/go-yaml"
	"github.com/spf13/cobra"

	"divisi/configs"
)

func newConfig(g *globals) *cobra.Command {
	var repo string
	c := &cobra.Command{
		Use:   "config",
		Short: "Show a repository's configuration with every default filled in",
		Long: `Show what .divisi/divisi.yaml of a repository means, with every default filled in. No file is needed:
everything has a default. Every fault of the file is reported with its line and column.` + codes(codeOK, codeUsage),
		Example: "  divisi config\n  divisi config --repo ../other --output json",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if err := checkDir(repo); err != nil {
				return err
			}
			p, err := configs.Project(top(repo))
			if err != nil {
				return err //nolint:wrapcheck // it names file, line and column
			}
			if g.json() {
				return json.NewEncoder(g.out).Encode(p) //nolint:wrapcheck // the terminal
			}
			text, err := yaml.Marshal(p)
			if err != nil {
				return err //nolint:wrapcheck // cannot fail for plain data
			}
			_, err = g.out.Write(text)
			return err //nolint:wrapcheck // the terminal
		},
	}
	c.Flags().StringVar(&repo, "repo", ".", "the repository")
	c.AddCommand(newConfigSchema(g))
	return c
}
