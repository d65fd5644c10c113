package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// group is a part of the list of commands: those that a person needs for one purpose, the first needed first.
type group struct {
	title    string
	commands []*cobra.Command
}

func (g *globals) groups() []group {
	return []group{
		{"Start", []*cobra.Command{newDemo(g), newInit(g), newDoctor(g), newNew(g), newRun(g), newPlan(g)}},
		{"Watch", []*cobra.Command{
			newRuns(g), newShow(g), newWatch(g), newDashboard(g), newMCP(g), newLog(g), newDiff(g), newContext(g),
		}},
		{decides, []*cobra.Command{
			newDecide(g), newAccept(g), newSend(g), g.newAct("skip"), newGate(g), g.newAct("pause"), newLine(g), newCancel(g),
		}},
		{"Repair", []*cobra.Command{newResume(g), newRetry(g), newTake(g), newGive(g), newDrop(g)}},
		{manage, []*cobra.Command{
			newPublish(g), newRoles(g), newConfig(g), newEnv(g), newMemory(g), newTrust(g), newLoopcheck(g), newVersion(g),
		}},
		{"Other machines", []*cobra.Command{
			newServe(g), newWorker(g), newWorkers(g), newJoin(g), newJoinKey(g), newCreds(g), newAudit(g),
		}},
	}
}

const (
	// manage is the group of the commands that cobra adds.
	manage = "Manage"
	// decides is the group of commands that act on a run.
	decides = "Decide"
)

// addGroups adds every command in its group.
func (g *globals) addGroups(root *cobra.Command) {
	for _, group := range g.groups() {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	g.addActs(root)
	root.SetCompletionCommandGroupID(manage)
	root.AddCommand(newExitCodes())
}

// newExitCodes is a help topic.
func newExitCodes() *cobra.Command {
	c := &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit code of a command means",
		Long: "What the exit code of a command means; with --output json an error has it as exit_code." +
			codesOfRuns(),
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), c.Long) })
	return c
}

// uses are the flags of the commands that conduct a run, by what they are for.
var uses = []struct {
	title string
	flags []string
}{
	{"What to do", []string{"plan", "repo", "base", "role", "dry-run", "brief", "brief-file", "model"}},
	{"Approval and doubt", []string{"yes", "review", "on-doubt", "wait", "trust-repo", "allow-unverified", "allow-unread"}},
	{"Limits and speed", []string{"budget", "parallel", "prove", "fresh-baseline", "sandbox"}},
	{"Other machines", []string{"nats", "creds", "elsewhere", "detach", "send-environment", "reprove"}},
	{"Page, notices and recording", []string{"dashboard", "bell", "notify", "record", "replay"}},
}

// groupFlags has the help of a command list its flags by what they are for.
func groupFlags(c *cobra.Command) {
	c.SetUsageFunc(func(c *cobra.Command) error {
		var b strings.Builder
		fmt.Fprintf(&b, "Usage:\n  %s\n\nExamples:\n%s\n", c.UseLine(), c.Example)
		rest := map[string]*pflag.Flag{}
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { rest[f.Name] = f })
		for _, use := range uses {
			writeFlags(&b, use.title, rest, use.flags)
		}
		writeFlags(&b, "Other flags", rest, slices.Sorted(maps.Keys(rest)))
		fmt.Fprintf(&b, "\nGlobal Flags:\n%s", c.InheritedFlags().FlagUsages())
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
