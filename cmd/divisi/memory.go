package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"divisi/contextscope/memory"
	"divisi/orchestrator/console"
)

// memoryCommand is what the commands about the memory share.
type memoryCommand struct {
	*globals
	repo string
}

func newMemory(g *globals) *cobra.Command {
	m := &memoryCommand{globals: g}
	c := &cobra.Command{
		Use:   "memory",
		Short: "Look after what outlives a run: search notes, take or refuse proposals",
		Long: `Look after what outlives a run. Notes are Markdown files in .divisi/memory of the repository, for
people and git to read; agents search them. What agents and finished runs propose waits in the
state directory until you accept or reject it. Nothing else in the checkout is touched.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory list\n  divisi memory search http header",
		RunE: func(c *cobra.Command, args []string) error {
			if len(args) > 0 {
				return usagef("there is no command %q of memory%s\nSee: divisi memory --help",
					args[0], nearest(args[0], names(c)))
			}
			return usagef("say what to do: divisi memory %s", strings.Join(names(c), "|"))
		},
	}
	c.PersistentFlags().StringVar(&m.repo, "repo", ".", "the repository whose memory it is")
	c.AddCommand(m.list(), m.search(), m.add(), m.rm(), m.proposals(), m.accept(), m.reject())
	return c
}

// open opens the memory of the repository and says what in it cannot be read.
func (m *memoryCommand) open(ctx context.Context) (*memory.Memory, error) {
	if err := checkDir(m.repo); err != nil {
		return nil, err
	}
	repo := top(m.repo)
	mem, problems, err := memory.Open(ctx, memory.Options{
		Repo: repo, Home: memory.Home(m.stateDir, repo), Note: func(text string) { m.log.Warn().Msg(text) },
	})
	m.warn(problems)
	return mem, err
}

func (m *memoryCommand) warn(problems []memory.Problem) {
	for i := range problems {
		m.log.Warn().Msg(problems[i].String())
	}
}

// with does something with the memory and closes it.
func (m *memoryCommand) with(ctx context.Context, do func(*memory.Memory) error) error {
	mem, err := m.open(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(mem), mem.Close())
}

func (m *memoryCommand) list() *cobra.Command {
	return &cobra.Command{
		Use:   "list",
		Short: "List the notes",
		Long: "List the notes by name, with their titles and tags. What cannot be read is named." +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory list\n  divisi memory list --output json",
		Args:    cobra.NoArgs,
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
	w := tabwriter.NewWriter(m.out, 0, 0, 2, ' ', 0)
	for _, n := range notes {
		if m.json() {
			if err := encodeLine(m.out, n); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n",
			console.Sanitize(n.Name), console.Sanitize(n.Title), console.Sanitize(strings.Join(n.Tags, ", ")))
	}
	if len(notes) == 0 && !m.json() {
		fmt.Fprintf(m.out, "There are no notes in %s. Write one with: divisi memory add FILE\n", memory.Place)
	}
	return w.Flush()
}

func (m *memoryCommand) search() *cobra.Command {
	limit := 0
	c := &cobra.Command{
		Use:   "search QUERY",
		Short: "Search the notes",
		Long: `Search the notes, as agents do: the best first. The query is words and identifiers; parts of names
count, so that http header finds parseHTTPHeader.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory search http header\n  divisi memory search 'flaky tests' --limit 3 --output json",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			if limit < 1 {
				return usagef("--limit %d: want a number from 1", limit)
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
	c.Flags().IntVar(&limit, "limit", 8, "how many notes to show, at most")
	return c
}

func (m *memoryCommand) printHits(hits []memory.Hit) error {
	for _, h := range hits {
		if m.json() {
			if err := encodeLine(m.out, h); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(m.out, "%s\n  %s\n", console.Sanitize(h.Title), console.Sanitize(h.Path))
		m.printText(h.Text)
	}
	if len(hits) == 0 && !m.json() {
		fmt.Fprintln(m.out, "No note fits.")
	}
	return nil
}

// printText shows a note's text, indented, so that no line of it can be taken for the program's.
func (m *memoryCommand) printText(text string) {
	for l := range strings.SplitSeq(text, "\n") {
		fmt.Fprintln(m.out, strings.TrimRight("  | "+console.Sanitize(l), " "))
	}
	fmt.Fprintln(m.out)
}

func (m *memoryCommand) add() *cobra.Command {
	var title string
	var tags []string
	c := &cobra.Command{
		Use:   "add [FILE|-]",
		Short: "Add a note",
		Long: `Add a note to .divisi/memory: Markdown from a file or from standard input, with front matter (title,
tags, paths, created, source) or without. The file is named after the title; nothing is overwritten.` +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory add notes.md --tag build\n" +
			"  echo 'Run make gen first.' | divisi memory add --title 'Generated code' --tag build",
		Args: cobra.MaximumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			n, err := m.readNote(append(args, "-")[0])
			if err != nil {
				return err
			}
			if title != "" {
				n.Title = title
			}
			n.Tags = append(n.Tags, tags...)
			if n.Title == "" {
				return usagef("the note has no title: begin it with a line such as # Title, or give --title")
			}
			return m.with(c.Context(), func(mem *memory.Memory) error {
				name, err := mem.Add(c.Context(), n)
				if err != nil {
					return err
				}
				return m.say("added", name)
			})
		},
	}
	c.Flags().StringVar(&title, "title", "", "the note's title; without it, the front matter's or the first heading")
	c.Flags().StringSliceVar(&tags, "tag", nil, "a word to find it by; may be repeated")
	return c
}

// readNote reads a note that a person gives. It has no title where the text gives none.
func (m *memoryCommand) readNote(file string) (memory.Note, error) {
	in, name := m.in, "standard input"
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return memory.Note{}, usagef("%v", err)
		}
		defer f.Close()
		in, name = f, file
	}
	const most = 1 << 20 // what is too large for a note is refused with its reason
	data, err := io.ReadAll(io.LimitReader(in, most))
	if err != nil {
		return memory.Note{}, usagef("read %s: %v", name, err)
	}
	n, err := memory.Parse("", data)
	if fault := new(memory.ParseError); errors.As(err, &fault) {
		fault.File = name
		return n, usagef("%v", fault)
	}
	if strings.TrimSpace(n.Text) == "" {
		return n, usagef("%s has no text: a note is Markdown", name)
	}
	return n, nil
}

// say tells what became of notes' files.
func (m *memoryCommand) say(what string, notes ...string) error {
	for _, name := range notes {
		file := path.Join(memory.Place, name+".md")
		if m.json() {
			if err := encodeLine(m.out, map[string]string{what: name, "path": file}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(m.out, "%s %s\n", what, console.Sanitize(file))
	}
	return nil
}

func (m *memoryCommand) rm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a note",
		Long: "Remove a note's file from .divisi/memory. Git still has what was committed." +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory rm generated-code",
		Args:    cobra.ExactArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			name := strings.TrimSuffix(strings.TrimPrefix(args[0], memory.Place+"/"), ".md")
			return m.with(c.Context(), func(mem *memory.Memory) error {
				err := mem.Remove(c.Context(), name)
				if errors.Is(err, memory.ErrNotFound) {
					return m.noNote(c.Context(), mem, name)
				}
				if err != nil {
					return err
				}
				return m.say("removed", name)
			})
		},
	}
}

func (m *memoryCommand) noNote(ctx context.Context, mem *memory.Memory, name string) error {
	notes, err := mem.List(ctx)
	if err != nil {
		return err
	}
	known := make([]string, len(notes))
	for i, n := range notes {
		known[i] = n.Name
	}
	return usagef("there is no note %q%s\nSee: divisi memory list", name, nearest(name, known))
}
