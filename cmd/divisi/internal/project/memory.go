package project

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/contextscope/memory"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

// memoryCommand holds the shared flags of the memory commands.
type memoryCommand struct {
	*Globals
	repo string
}

// removedMemory are commands that an older version had, with what to do instead.
var removedMemory = map[string]string{
	"add": "write a Markdown file in " + memory.Place,
	"rm":  "delete the file in " + memory.Place,
}

// NewMemory makes divisi memory.
func NewMemory(g *Globals) *cobra.Command {
	m := &memoryCommand{Globals: g}
	c := &cobra.Command{
		Use:   "memory",
		Short: "Manage notes kept between runs (search, accept, reject)",
		Long: `Manage notes kept between runs. Notes are Markdown files in .divisi/memory of the repository, for
people and git to read, write and delete; agents search them. What agents and finished runs propose
waits in the state directory. "memory accept" copies it to .divisi/memory; nothing else writes to the
checkout.`,
		Example: "  divisi memory list\n  divisi memory search http header",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 && removedMemory[args[0]] != "" {
				return usage.Errorf("divisi memory %s was removed: %s", args[0], removedMemory[args[0]])
			}
			return cli.NeedsCommand(c, args)
		},
	}
	c.PersistentFlags().StringVar(&m.repo, "repo", ".", "the repository")
	c.AddCommand(m.list(), m.search(), m.proposals(), m.accept(), m.reject())
	return c
}

func (m *memoryCommand) warn(problems []memory.Problem) {
	for i := range problems {
		m.Log.Warn().Msg(problems[i].String())
	}
}

// with does something with the memory of the repository, and logs which notes cannot be read.
func (m *memoryCommand) with(ctx context.Context, do func(*memory.Memory) error) error {
	if err := cli.CheckDir(m.repo); err != nil {
		return err
	}
	repo := cli.Top(m.repo)
	mem, problems, err := memory.Open(ctx, memory.Options{Repo: repo, Home: memory.Home(m.StateDir, repo)})
	m.warn(problems)
	if err != nil {
		return err
	}
	return do(mem)
}

func (m *memoryCommand) list() *cobra.Command {
	return &cobra.Command{
		Use:     "list",
		Short:   "List the notes",
		Long:    "List the notes by name, with titles and tags, and report files that cannot be read.",
		Example: "  divisi memory list\n  divisi memory list --output json",
		RunE: func(c *cobra.Command, _ []string) error {
			return m.with(c.Context(), func(mem *memory.Memory) error {
				notes, err := mem.List(c.Context())
				if err != nil {
					return err
				}
				return m.printNotes(notes)
			})
		},
	}
}

func (m *memoryCommand) printNotes(notes []memory.Note) error {
	return m.Print(func(b *strings.Builder) error {
		if len(notes) == 0 {
			fmt.Fprintf(b, "No notes in %s: write a Markdown file there\n", memory.Place)
		}
		var rows [][]string
		for _, n := range notes {
			rows = append(rows, []string{n.Name, n.Title, strings.Join(n.Tags, ", ")})
		}
		b.WriteString(display.Table(rows))
		return nil
	}, cli.Anys(notes)...)
}

func (m *memoryCommand) search() *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the notes",
		Long: `Search the notes, as agents do: the best first. The query is words and identifiers; parts of names
count, so that http header finds parseHTTPHeader.`,
		Example: "  divisi memory search http header\n  divisi memory search 'flaky tests' --limit 3 --output json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return usage.Errorf("--limit must be at least 1, not %d", limit)
			}
			return m.with(c.Context(), func(mem *memory.Memory) error {
				hits, err := mem.Search(c.Context(), strings.Join(args, " "), limit)
				if err != nil {
					return err
				}
				return m.printHits(hits)
			})
		},
	}
	c.Flags().IntVar(&limit, "limit", 8, "show at most this many notes")
	return c
}

func (m *memoryCommand) printHits(hits []memory.Hit) error {
	return m.Print(func(b *strings.Builder) error {
		if len(hits) == 0 {
			b.WriteString("No notes match.\n")
		}
		for _, h := range hits {
			fmt.Fprintf(b, "%s\n  %s\n", display.Sanitize(h.Title), display.Sanitize(h.Path))
			writeNote(b, h.Text)
		}
		return nil
	}, cli.Anys(hits)...)
}

// writeNote writes a note's text, indented, so that no line of it can be taken for the program's.
func writeNote(b *strings.Builder, text string) {
	for l := range strings.SplitSeq(text, "\n") {
		b.WriteString(strings.TrimRight("  | "+display.Sanitize(l), " ") + "\n")
	}
	b.WriteByte('\n')
}
