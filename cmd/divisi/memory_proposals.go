package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/contextscope/memory"
	"divisi/orchestrator/console"
)

func (m *memoryCommand) proposals() *cobra.Command {
	return &cobra.Command{
		Use:   "proposals",
		Short: "List notes proposed by agents and runs",
		Long: `List the notes that agents and finished runs propose. Searches and the repository do not have them
until you accept them.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory proposals\n  divisi memory proposals --output json",
		Args:    cobra.NoArgs,
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
	for _, p := range all {
		if m.json() {
			if err := encodeLine(m.out, p); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(m.out, "%s  %s\n", p.ID, console.Sanitize(p.Note.Title))
		for _, f := range []struct{ key, value string }{
			{"tags", strings.Join(p.Note.Tags, ", ")}, {"paths", strings.Join(p.Note.Paths, ", ")}, {"from", p.Note.Source},
		} {
			if f.value != "" {
				fmt.Fprintf(m.out, "  %s: %s\n", f.key, console.Sanitize(f.value))
			}
		}
		m.printText(p.Note.Text)
	}
	if m.json() {
		return nil
	}
	words := "Accept with: divisi memory accept ID...; reject with: divisi memory reject ID..."
	if len(all) == 0 {
		words = "No proposals."
	}
	_, err := fmt.Fprintln(m.out, words)
	return err
}

func (m *memoryCommand) accept() *cobra.Command {
	return &cobra.Command{
		Use:   "accept ID...",
		Short: "Copy proposals to .divisi/memory",
		Long: `Copy proposals to .divisi/memory, where git and later runs see them. Nothing is overwritten, and
nothing is committed. The beginning of an id is enough.` + codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory accept 1f2e 77ab",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return m.with(c.Context(), func(mem *memory.Memory) error {
				ids, err := m.resolve(c.Context(), mem, args)
				if err != nil {
					return err
				}
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
		if m.json() {
			if err := encodeLine(m.out, map[string]string{"added": name, "path": file}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(m.out, "added %s\n", console.Sanitize(file))
	}
	return nil
}

func (m *memoryCommand) reject() *cobra.Command {
	return &cobra.Command{
		Use:   "reject ID...",
		Short: "Reject proposals",
		Long: "Reject proposals. The same notes are not proposed again. The beginning of an id is enough." +
			codes(codeOK, codeUsage, codeMachine),
		Example: "  divisi memory reject 1f2e",
		Args:    cobra.MinimumNArgs(1),
		RunE: func(c *cobra.Command, args []string) error {
			return m.with(c.Context(), func(mem *memory.Memory) error {
				ids, err := m.resolve(c.Context(), mem, args)
				if err != nil {
					return err
				}
				if err := mem.Reject(c.Context(), ids...); err != nil {
					return err
				}
				return m.sayRejected(ids)
			})
		},
	}
}

func (m *memoryCommand) sayRejected(ids []string) error {
	for _, id := range ids {
		if m.json() {
			if err := encodeLine(m.out, map[string]string{"rejected": id}); err != nil {
				return err
			}
			continue
		}
		fmt.Fprintf(m.out, "rejected %s\n", id)
	}
	return nil
}

// resolve finds the proposals whose ids begin with what a person gave. Every error is reported, and then nothing is done.
func (m *memoryCommand) resolve(ctx context.Context, mem *memory.Memory, given []string) ([]string, error) {
	all, problems, err := mem.Proposals(ctx)
	m.warn(problems)
	if err != nil {
		return nil, err
	}
	var ids, faults []string
	for _, start := range given {
		var found []string
		for _, p := range all {
			if start != "" && strings.HasPrefix(p.ID, start) {
				found = append(found, p.ID)
			}
		}
		switch len(found) {
		case 1:
			ids = append(ids, found[0])
		case 0:
			faults = append(faults, fmt.Sprintf("there is no proposal %q", start))
		default:
			faults = append(faults, fmt.Sprintf("%q could be any of %s", start, strings.Join(found, ", ")))
		}
	}
	if len(faults) > 0 {
		return nil, usagef("%s\nSee: divisi memory proposals", strings.Join(faults, "\n"))
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}
