package project

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/contextscope/memory"
	"divisi/internal/usage"
	"divisi/orchestrator/console/display"
)

func (m *memoryCommand) proposals() *cobra.Command {
	return &cobra.Command{
		Use:   "proposals",
		Short: "List notes proposed by agents and runs",
		Long: `List the notes that agents and finished runs propose. Searches and the repository do not have them
until you accept them.`,
		Example: "  divisi memory proposals\n  divisi memory proposals --output json",
		RunE: func(c *cobra.Command, _ []string) error {
			return m.with(c.Context(), func(mem *memory.Memory) error {
				all, problems, err := mem.Proposals(c.Context())
				m.warn(problems)
				if err != nil {
					return err
				}
				return m.printProposals(all)
			})
		},
	}
}

func (m *memoryCommand) printProposals(all []memory.Proposal) error {
	return m.Print(func(b *strings.Builder) error {
		if len(all) == 0 {
			b.WriteString("No proposals.\n")
			return nil
		}
		for _, p := range all {
			writeProposal(b, &p)
		}
		b.WriteString("Accept with: divisi memory accept ID...; reject with: divisi memory reject ID...\n")
		return nil
	}, cli.Anys(all)...)
}

func writeProposal(b *strings.Builder, p *memory.Proposal) {
	fmt.Fprintf(b, "%s  %s\n", p.ID, display.Sanitize(p.Note.Title))
	for _, f := range []struct{ key, value string }{
		{"tags", strings.Join(p.Note.Tags, ", ")}, {"paths", strings.Join(p.Note.Paths, ", ")}, {"from", p.Note.Source},
	} {
		if f.value != "" {
			fmt.Fprintf(b, "  %s: %s\n", f.key, display.Sanitize(f.value))
		}
	}
	writeNote(b, p.Note.Text)
}

func (m *memoryCommand) accept() *cobra.Command {
	return &cobra.Command{
		Use:   "accept ID...",
		Short: "Copy proposals to .divisi/memory",
		Long: `Copy proposals to .divisi/memory, where git and later runs see them. Nothing is overwritten, and
nothing is committed. The beginning of an id is enough.`,
		Example: "  divisi memory accept 1f2e 77ab",
		RunE: func(c *cobra.Command, args []string) error {
			return m.resolve(c.Context(), args, func(mem *memory.Memory, ids []string) error {
				names, err := mem.Accept(c.Context(), ids...)
				return errors.Join(m.sayAccepted(names), err)
			})
		},
	}
}

// sayAccepted prints the files of accepted notes.
func (m *memoryCommand) sayAccepted(names []string) error {
	for _, name := range names {
		file := path.Join(memory.Place, name+".md")
		err := m.Print(cli.Say("added %s\n", display.Sanitize(file)), map[string]string{"added": name, "path": file})
		if err != nil {
			return err
		}
	}
	return nil
}

func (m *memoryCommand) reject() *cobra.Command {
	return &cobra.Command{
		Use:     "reject ID...",
		Short:   "Reject proposals",
		Long:    "Reject proposals. The same notes are not proposed again. The beginning of an id is enough.",
		Example: "  divisi memory reject 1f2e",
		RunE: func(c *cobra.Command, args []string) error {
			return m.resolve(c.Context(), args, func(mem *memory.Memory, ids []string) error {
				err := mem.Reject(c.Context(), ids...)
				if err != nil {
					return err
				}
				for _, id := range ids {
					err = errors.Join(err, m.Print(cli.Say("rejected %s\n", id), map[string]string{"rejected": id}))
				}
				return err
			})
		},
	}
}

// resolve does something with the proposals whose ids begin with what a person gave. Every error is reported, and then nothing is
// done.
func (m *memoryCommand) resolve(ctx context.Context, given []string, do func(*memory.Memory, []string) error) error {
	return m.with(ctx, func(mem *memory.Memory) error {
		all, problems, err := mem.Proposals(ctx)
		m.warn(problems)
		if err != nil {
			return err
		}
		var known, ids, faults []string
		for i := range all {
			known = append(known, all[i].ID)
		}
		for _, start := range given {
			switch id, err := cli.Only(known, start, strings.HasPrefix); {
			case err != nil:
				faults = append(faults, err.Error())
			case id == "":
				faults = append(faults, fmt.Sprintf("there is no proposal %q", start))
			default:
				ids = append(ids, id)
			}
		}
		if len(faults) > 0 {
			return usage.Errorf("%s\nSee: divisi memory proposals", strings.Join(faults, "\n"))
		}
		slices.Sort(ids)
		return do(mem, slices.Compact(ids))
	})
}
