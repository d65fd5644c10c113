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

// current puts the name that a command has now in place of its old one in arguments, and words that for a person. A shell that
// completes words is told nothing.
func current(root *cobra.Command, args []string) (now []string, notice string) {
	if len(args) > 2 && (args[0] == cobra.ShellCompRequestCmd || args[0] == cobra.ShellCompNoDescRequestCmd) {
		last := len(args) - 1
		now, _ = current(root, args[1:last])
		if args[last-1] == "serve" && !strings.HasPrefix(args[last], "-") { // which of them it is the next word tells
			now = now[:len(now)-1]
		}
		return slices.Concat(args[:1], now, args[last:]), ""
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	flags.SetInterspersed(false)
	flags.BoolP("help", "h", false, "")
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
		now, old = with("server"), "serve "+c.Name() // divisi serve token is divisi server token
		name = "server " + c.Name()
	} else {
		now = with(name)
	}
	return now, fmt.Sprintf("divisi %s is now divisi %s; the old name ends with the next release", old, name)
}
