package project

import (
	"encoding/json"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/usage"
)

func newConfigSchema(g *Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "schema [role|project|plan|worker|policy]",
		Short: "Print the JSON Schema of a file that you write, for your editor",
		Long: `Print the JSON Schema (draft 2020-12) of the project file (default), of a role's front matter, of a plan,
of a machine owner's worker.yaml, or of an organisation's policy.yaml.
An editor with it completes and checks fields as you type; errors of the whole are found by
divisi config, divisi roles validate and divisi run --dry-run.` + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example:   "  divisi config schema > ../project.schema.json\n  divisi config schema plan",
		ValidArgs: configs.SchemaKinds(),
		RunE: func(_ *cobra.Command, args []string) error {
			kind := "project"
			if len(args) == 1 {
				kind = args[0]
			}
			schema := configs.Schema(kind)
			if schema == nil {
				return usage.Errorf("there is no schema %q%s; there are %s", kind, cli.Nearest(kind, configs.SchemaKinds()),
					strings.Join(configs.SchemaKinds(), ", "))
			}
			out := json.NewEncoder(g.Out)
			out.SetIndent("", "  ")
			return out.Encode(schema)
		},
	}
}
