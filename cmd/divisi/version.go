package main

import (
	"fmt"
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
			if g.json() {
				return encodeLine(g.out, map[string]string{
					"version": orchestrator.Version(), "go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
				})
			}
			_, err := fmt.Fprintf(g.out, "divisi %s %s %s/%s\n", orchestrator.Version(),
				runtime.Version(), runtime.GOOS, runtime.GOARCH)
			return err
		},
	}
}
