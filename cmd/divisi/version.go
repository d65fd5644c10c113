package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"divisi/orchestrator"
)

func newVersion(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:     "version",
		Short:   "Print the version",
		Long:    "Print the version, the Go release it was built with, and the platform." + codes(codeOK, codeUsage),
		Example: "  divisi version",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := map[string]string{
				"version": orchestrator.Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			}
			return g.print(say("divisi %s %s %s/%s\n", v["version"], v["go"], v["os"], v["arch"]), v)
		},
	}
}
