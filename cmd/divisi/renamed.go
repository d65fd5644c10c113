package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// renamed are the names that commands had in the release before. They work until the next one.
var renamed = map[string]string{
	"serve": "server start", "worker": "server worker", "workers": "server workers", "join": "server join",
	"joinkey": "server joinkey", "creds": "server creds", "audit": "server audit",
	"context": "debug context", "loopcheck": "debug loopcheck",
}

// current puts the name that a command has now in place of its old one in arguments, and words that for a person.
func current(root *cobra.Command, args []string) (now []string, notice string) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.Usage = func() {} // of --help, which cobra writes
	flags.AddFlagSet(root.PersistentFlags())
	err := flags.Parse(args)
	flags.Visit(func(f *pflag.Flag) { f.Changed = false }) // cobra parses them again
	old, name := flags.Arg(0), renamed[flags.Arg(0)]
	if err != nil || name == "" {
		return args, ""
	}
	at := len(args) - flags.NArg()
	with := func(name string) []string { return slices.Concat(args[:at], strings.Fields(name), args[at+1:]) }
	if c, _, err := root.Find(with("server")); old == "serve" && err == nil && c.Name() != "server" {
		name = "server" // divisi serve token is divisi server token
	}
	return with(name), fmt.Sprintf("divisi %s is now divisi %s; the old name ends with the next release", old, name)
}
