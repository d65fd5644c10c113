package runs

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// FlagGroups are the flags of the commands that conduct a run, by what they are for.
var FlagGroups = []struct {
	title string
	Flags []string
}{
	{"What to do", []string{"plan", "repo", "base", "role", "agent", "project", "dry-run"}},
	{"Approval and doubt", []string{"yes", "review", "on-doubt", "wait", "trust-repo", "allow-unverified", "allow-unread"}},
	{"Limits and speed", []string{"budget", "parallel", "prove", "twin", "fresh-baseline", "sandbox"}},
	{"Other machines", []string{"nats", "creds", "elsewhere", "detach", "send-environment", "reprove"}},
	{"Page, notices and recording", []string{"dashboard", "bell", "notify", "record", "replay"}},
}

// usual are those of them that a person needs first.
var usual = []string{"plan", "dry-run", "repo", "role", "agent", "yes", "review", "budget", "allow-unverified"}

// GroupFlags has the help of a command list the usual flags and its own, and with --all every flag by what it is for.
func GroupFlags(c *cobra.Command) {
	c.SetUsageFunc(func(c *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		rest := map[string]*pflag.Flag{}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { rest[f.Name] = f })
		if !c.Flag("all").Changed {
			delete(rest, "help")
			writeFlags(&b, "Flags", rest, usual)
			for _, use := range FlagGroups {
				writeFlags(new(strings.Builder), "", rest, use.Flags)
			}
			writeFlags(&b, "Of this command", rest, slices.Sorted(maps.Keys(rest)))
			fmt.Fprintf(&b, "\nAll flags: %s --help --all\n", c.CommandPath())
		} else {
			for _, use := range FlagGroups {
				writeFlags(&b, use.title, rest, use.Flags)
			}
			writeFlags(&b, "Other flags", rest, slices.Sorted(maps.Keys(rest)))
			fmt.Fprintf(&b, "\nGlobal Flags:\n%s", c.InheritedFlags().FlagUsages())
		}
		_, err := fmt.Fprint(c.OutOrStderr(), b.String())
		return err
	})
}

// writeFlags writes those of some flags that have the names, and takes them out.
func writeFlags(b *strings.Builder, title string, flags map[string]*pflag.Flag, names []string) {
	set := pflag.NewFlagSet(title, pflag.ContinueOnError)
	set.SortFlags = false
	for _, name := range names {
		if f := flags[name]; f != nil {
			set.AddFlag(f)
			delete(flags, name)
		}
	}
	if set.HasFlags() {
		fmt.Fprintf(b, "\n%s:\n%s", title, set.FlagUsages())
	}
}

// percent is the value of a flag: a share such as 5%, or 5.
type percent float64

// String implements pflag.Value.
func (p *percent) String() string { return strconv.FormatFloat(float64(*p), 'g', -1, 64) + "%" }

// Type implements pflag.Value.
func (p *percent) Type() string { return "percent" }

// Set implements pflag.Value.
func (p *percent) Set(text string) error {
	n, err := strconv.ParseFloat(strings.TrimSuffix(text, "%"), 64)
	if err != nil || math.IsNaN(n) || n < 0 || n > 100 {
		return errors.New("it must be a share between 0% and 100%, such as 5%")
	}
	*p = percent(n)
	return nil
}
