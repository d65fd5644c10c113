package main

import (
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/spec"
	"divisi/internal/usage"
)

// instead has, for words that people try as a command, what does it.
var instead = map[string]string{
	"pr":      "the branch divisi/<run> is in your repository: git push it, and open a pull request where it is hosted",
	"ui":      "divisi dashboard serves a page of all runs",
	"page":    "divisi dashboard serves a page of all runs",
	"logs":    "divisi log RUN/TASK prints the output of gates, divisi watch RUN the events",
	"tail":    "divisi watch RUN follows a run",
	"status":  "divisi runs lists all runs, divisi show RUN reports on one",
	"ls":      "divisi runs lists all runs",
	"start":   "divisi run \"GOAL\" starts a run, divisi resume RUN continues one",
	"stop":    "divisi pause RUN stops a run for a while, divisi cancel RUN for good",
	"kill":    "divisi cancel RUN ends a run for good, divisi cancel RUN/TASK one task",
	"abort":   "divisi cancel RUN ends a run for good, divisi pause RUN for a while",
	"approve": "divisi decide RUN asks about plans, divisi accept RUN/TASK accepts a held patch",
	"reject":  "divisi decide RUN asks about held patches, divisi send RUN/TASK \"REASON\" rejects one",
	"review":  "divisi decide RUN shows each held patch and asks; divisi run --review holds every patch",
}

// unknownCommand words cobra's error about a command that does not exist; every other error stays.
func unknownCommand(root *cobra.Command, err error) error {
	var name string
	if err == nil || errors.As(err, new(*usage.Error)) {
		return err
	}
	if _, no := fmt.Sscanf(err.Error(), "unknown command %q", &name); no != nil {
		return err
	}
	text := fmt.Sprintf("unknown command %q for %q", name, root.Name())
	if does, tried := instead[strings.ToLower(name)]; tried {
		return usage.Errorf("%s\n%s\nSee: divisi --help", text, does)
	}
	return usage.Errorf("%s%s\nSee: divisi --help", text, cli.Nearest(name, cli.Names(root)))
}

// unknownFlag names the flag of a command that is the nearest to one that it does not have; "" for every other error.
func unknownFlag(c *cobra.Command, err error) string {
	var unknown *pflag.NotExistError
	if !errors.As(err, &unknown) || len(unknown.GetSpecifiedName()) < 2 {
		return ""
	}
	var known []string
	add := func(f *pflag.Flag) { known = append(known, f.Name) }
	c.LocalFlags().VisitAll(add)
	c.InheritedFlags().VisitAll(add)
	name := unknown.GetSpecifiedName()
	if each, _, err := c.Root().Find([]string{"each"}); err == nil && each.Flags().Lookup(name) != nil {
		return fmt.Sprintf("unknown flag --%s: %s has it", name, each.CommandPath())
	}
	if near := spec.Nearest(name, known); near != "" {
		return fmt.Sprintf("unknown flag --%s: did you mean --%s?", name, near)
	}
	return "unknown flag --" + name
}
