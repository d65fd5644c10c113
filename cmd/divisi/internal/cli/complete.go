package cli

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/client"
	"divisi/orchestrator/console/display"
)

// completionTime bounds how long a person waits for the shell.
const completionTime = 2 * time.Second

// completion proposes words for the place of the word that a person types. What cannot be read proposes nothing: a shell has no
// place for an error.
type completion = cobra.CompletionFunc

// CompleteArgs gives a command what its arguments are completed by, as its usage names them.
func (g *Globals) CompleteArgs(c *cobra.Command) {
	switch {
	case c.ValidArgs != nil || c.HasSubCommands() && c.Args == nil:
		return // cobra completes these
	case strings.Contains(c.Use, "[NAME]") || strings.HasPrefix(c.Use, "show NAME"):
		c.ValidArgsFunction = first(completeRoles)
	case strings.Contains(c.Use, "RUN"):
		c.ValidArgsFunction = g.completeRun
	case strings.Contains(c.Use, "DIR"):
		c.ValidArgsFunction = first(directories)
	case !strings.Contains(c.Use, "FILE") || strings.Contains(c.Use, "--plan FILE"):
		c.ValidArgsFunction = cobra.NoFileCompletions
	}
}

// CompleteFlags gives the flags of a command what their values are completed by.
func CompleteFlags(c *cobra.Command) {
	values := map[string]completion{
		"output": completeOutput,
		"log-level": cobra.FixedCompletions(
			[]string{"trace", "debug", "info", "warn", "error"}, cobra.ShellCompDirectiveNoFileComp),
		"sandbox":   cobra.FixedCompletions([]string{SandboxAuto, SandboxStrict}, cobra.ShellCompDirectiveNoFileComp),
		"prove":     cobra.FixedCompletions([]string{"batch", "each"}, cobra.ShellCompDirectiveNoFileComp),
		"on-doubt":  cobra.FixedCompletions([]string{"ask", "accept", "reject"}, cobra.ShellCompDirectiveNoFileComp),
		"repo":      directories,
		"dir":       directories,
		"state-dir": directories,
		"record":    directories,
		"replay":    directories,
		"plan":      files("yaml", "yml"),
		"role":      files("md"),
	}
	switch c.CommandPath() {
	case "divisi roles new":
		values["from"] = cobra.FixedCompletions(spec.CodingAgents(), cobra.ShellCompDirectiveNoFileComp)
	case "divisi new codemod":
		values["lang"] = cobra.FixedCompletions(configs.CodemodLangs, cobra.ShellCompDirectiveNoFileComp)
	case "divisi retry":
		values["role"] = completeRoles
	case "divisi server token":
		values["role"] = cobra.FixedCompletions([]string{"worker", "person", "viewer"}, cobra.ShellCompDirectiveNoFileComp)
	case "divisi server link":
		values["role"] = cobra.FixedCompletions([]string{"person", "viewer"}, cobra.ShellCompDirectiveNoFileComp)
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if c.PersistentFlags().Lookup(name) == nil && c.LocalNonPersistentFlags().Lookup(name) == nil {
			continue
		}
		if err := c.RegisterFlagCompletionFunc(name, values[name]); err != nil {
			panic(err) // a mistake of this file: two functions for one flag
		}
	}
}

// completeOutput proposes what checkOutput takes.
func completeOutput(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return outputs(c), cobra.ShellCompDirectiveNoFileComp
}

func directories(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return nil, cobra.ShellCompDirectiveFilterDirs
}

func files(extensions ...string) completion {
	return cobra.FixedCompletions(extensions, cobra.ShellCompDirectiveFilterFileExt)
}

// first completes the first argument alone.
func first(with completion) completion {
	return func(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return with(c, args, word)
	}
}

// completeRoles proposes the roles of the repository of --repo, or of the current directory.
func completeRoles(c *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	repo := "."
	if f := c.Flag("repo"); f != nil {
		repo = f.Value.String()
	}
	set, err := configs.RolesWith(Top(repo), nil)
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var out []string
	for _, name := range slices.Sorted(maps.Keys(set.Roles)) {
		role := set.Roles[name]
		out = append(out, described(name, role.Description))
	}
	return out, cobra.ShellCompDirectiveNoFileComp
}

// completeRun proposes runs, and behind the slash or the name of a run its tasks or its open decisions. A word that begins no run
// is of a task of the newest one.
func (g *Globals) completeRun(c *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
	if g.Setup() != nil || g.FindOn(c) != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	ctx, cancel := context.WithTimeout(c.Context(), completionTime)
	defer cancel()
	name, _, behind := strings.Cut(word, "/")
	switch {
	case len(args) == 0 && behind && strings.Contains(c.Use, "/TASK"):
		return prefixed(name+"/", g.tasksOf(ctx, name)), cobra.ShellCompDirectiveNoFileComp
	case len(args) == 0 || strings.Contains(c.Use, "RUN..."):
		ids, err := g.Runs().List(ctx)
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		begun := func(id string) bool { return strings.HasPrefix(id, word) }
		if len(ids) > 0 && strings.Contains(c.Use, "/TASK") && !slices.ContainsFunc(ids, begun) {
			return g.tasksOf(ctx, ids[0]), cobra.ShellCompDirectiveNoFileComp
		}
		if strings.Contains(c.Use, "RUN/TASK") {
			for i := range ids {
				ids[i] += "/"
			}
			return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
		}
		return ids, cobra.ShellCompDirectiveNoFileComp
	case strings.Contains(c.Use, "TASK..."):
		run, _, _ := strings.Cut(args[0], "/")
		return g.tasksOf(ctx, run), cobra.ShellCompDirectiveNoFileComp
	case len(args) == 1 && strings.Contains(c.Use, "DIR"):
		return nil, cobra.ShellCompDirectiveFilterDirs
	case len(args) == 1 && strings.Contains(c.Use, "DECISION"):
		return g.decisionsOf(ctx, args[0]), cobra.ShellCompDirectiveNoFileComp
	}
	return nil, cobra.ShellCompDirectiveNoFileComp
}

// reportHead is the part of a report that completion reads.
type reportHead struct {
	Tasks []glimpsed `json:"tasks"`
	Open  []glimpsed `json:"decisions"`
}

// glimpsed is a task with its title, or a decision with its text.
type glimpsed struct {
	ID    string `json:"id"`
	Title string `json:"title"`
	Text  string `json:"text"`
}

// glance reads the report of a run; it is empty where that takes a write, or a network that --on does not name.
func (g *Globals) glance(ctx context.Context, name string) (out reportHead) {
	id, err := g.FindRun(ctx, []string{name})
	if err != nil {
		return out
	}
	var data json.RawMessage
	if g.At.URL != "" {
		s, err := g.Runs().Summary(ctx, id)
		if err != nil {
			return out
		}
		data = s.Report
	} else if data, err = client.Glance(ctx, g.StateDir, id); err != nil {
		return out
	}
	if json.Unmarshal(data, &out) != nil {
		return reportHead{}
	}
	return out
}

func (g *Globals) tasksOf(ctx context.Context, run string) (out []string) {
	for _, t := range g.glance(ctx, run).Tasks {
		out = append(out, described(t.ID, t.Title))
	}
	return out
}

func (g *Globals) decisionsOf(ctx context.Context, run string) (out []string) {
	for _, d := range g.glance(ctx, run).Open {
		out = append(out, described(d.ID, d.Text))
	}
	return out
}

// described is a word with what a shell shows beside it. Text of a repository has no line or control character there.
func described(word, about string) string {
	about = text.Short(strings.Join(strings.Fields(display.Sanitize(about)), " "), 80)
	return strings.TrimSuffix(cobra.CompletionWithDesc(word, about), "\t")
}

func prefixed(prefix string, words []string) []string {
	for i := range words {
		words[i] = prefix + words[i]
	}
	return words
}
