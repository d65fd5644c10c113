package main

import (
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/release"
)

func newVersion(g *cli.Globals) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: "Print the version, the commit it was built of with the time of that commit, the Go release it was built\n" +
			"with, and the platform." + cli.Codes(cli.CodeOK, cli.CodeUsage),
		Example: "  divisi version\n  divisi version --output json",
		RunE: func(*cobra.Command, []string) error {
			commit, time := release.Commit()
			return g.Print(cli.Say("divisi %s\n", versionLine()), map[string]string{
				"version": release.Version(), "commit": commit, "commit_time": time,
				"go": runtime.Version(), "os": runtime.GOOS, "arch": runtime.GOARCH,
			})
		},
	}
}

// versionLine is all that the build recorded, in one line.
func versionLine() string {
	of := "built without version control"
	if commit, time := release.Commit(); commit != "" {
		of = fmt.Sprintf("commit %s of %s", commit, time)
	}
	return fmt.Sprintf("%s %s %s/%s, %s", release.Version(), runtime.Version(), runtime.GOOS, runtime.GOARCH, of)
}
