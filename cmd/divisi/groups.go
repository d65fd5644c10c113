package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/acts"
	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/each"
	"divisi/cmd/divisi/internal/inspect"
	"divisi/cmd/divisi/internal/merge"
	"divisi/cmd/divisi/internal/project"
	"divisi/cmd/divisi/internal/pulls"
	"divisi/cmd/divisi/internal/runs"
	"divisi/cmd/divisi/internal/team"
)

// group is a part of the list of commands: those that a person needs for one purpose, the first needed first.
type group struct {
	title    string
	commands []*cobra.Command
}

// manage is the group of the commands that cobra adds.
const manage = "Manage"

// addGroups adds every command in its group.
func addGroups(root *cobra.Command, g *cli.Globals) {
	p := &project.Globals{Globals: runs.Globals{Globals: acts.Globals{Globals: inspect.Globals{Globals: g}}}}
	r, a, i := &p.Globals, &p.Globals.Globals, &p.Globals.Globals.Globals
	groups := []group{
		{"Start", []*cobra.Command{
			runs.NewDemo(r), runs.NewInit(r), project.NewDoctor(p), project.NewNew(p), each.NewEach(r), each.NewFix(r),
			runs.NewRun(r), runs.NewPlan(r), merge.NewMerge(r),
		}},
		{"Watch", []*cobra.Command{
			inspect.NewRuns(i), inspect.NewShow(i), runs.NewWatch(r), runs.NewDashboard(r), project.NewMCP(p), inspect.NewLog(i),
			inspect.NewDiff(i),
		}},
		{acts.Group, []*cobra.Command{
			acts.NewDecide(a), acts.NewAccept(a), acts.NewSend(a), a.NewAct("skip"), acts.NewGate(a), a.NewAct("pause"),
			acts.NewLine(a), acts.NewCancel(a),
		}},
		{"Repair", []*cobra.Command{
			runs.NewResume(r), runs.NewRetry(r), acts.NewTake(a), runs.NewGive(r), runs.NewDrop(r), runs.NewRebase(r),
			runs.NewRevert(r),
		}},
		{manage, []*cobra.Command{
			pulls.NewPublish(r), project.NewRoles(p), project.NewConfig(p), project.NewEnv(p), project.NewMemory(p),
			runs.NewTrust(r), team.NewServer(&team.Globals{Globals: g}), inspect.NewDebug(i), newVersion(g),
		}},
	}
	for _, group := range groups {
		root.AddGroup(&cobra.Group{ID: group.title, Title: group.title + ":"})
		for _, c := range group.commands {
			c.GroupID = group.title
			root.AddCommand(c)
		}
	}
	a.AddActs(root)
	root.SetCompletionCommandGroupID(manage)
	root.AddCommand(newExitCodes())
}

// newExitCodes is a help topic.
func newExitCodes() *cobra.Command {
	c := &cobra.Command{
		Use:   "exit-codes",
		Short: "What the exit code of a command means",
		Long: "What the exit code of a command means; with --output json an error has it as exit_code." +
			cli.CodesOfRuns(),
	}
	c.SetHelpFunc(func(c *cobra.Command, _ []string) { fmt.Fprintln(c.OutOrStdout(), c.Long) })
	return c
}
