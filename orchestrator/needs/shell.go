package needs

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"divisi/internal/sandbox/stage"
	"divisi/internal/shim"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator/run"
	"divisi/subagents/environment"
)

// Shell is the user's shell, as commands of a run have it: with the programs that version managers name in the checkout in the
// place of their shims. They are asked once.
type Shell struct {
	once    sync.Once
	environ []string
	notes   []string
	lost    []shim.Lost
	// conflicts tell of programs in other versions than the checkout names.
	conflicts []string
}

// Environ is the environment that commands take their PATH from. dir is the checkout; empty for none.
func (s *Shell) Environ(ctx context.Context, order *run.Spec, dir string) []string {
	dir = cmp.Or(dir, string(filepath.Separator)) // which names no versions
	s.once.Do(func() {
		ran := [][]string{order.Project.Setup.Command}
		for _, r := range order.Roles {
			ran = append(ran, r.Command)
		}
		ran = append(ran, gatesOf(order)...)
		var replaced []shim.Replaced
		s.environ, replaced, s.lost = shim.Environ(ctx, os.Environ(), dir, ran, environment.Names(ran))
		names := append(shim.Words(ran), environment.Names(ran)...)
		setup := strings.Join(order.Project.Setup.Command, " ")
		for _, p := range shim.Pins(dir) {
			// The setup installs it, or a person has decided.
			if strings.Contains(setup, p.Program+"@"+p.Version) || order.Project.Pins == spec.PinsShell {
				names = slices.DeleteFunc(names, func(name string) bool { return name == p.Program })
			}
		}
		var pinned []string
		s.environ, pinned, s.conflicts = shim.Pinned(ctx, s.environ, dir, names)
		s.notes = append(s.notes, pinned...)
		for _, r := range replaced {
			if r.Named {
				s.notes = append(s.notes,
					fmt.Sprintf("commands have %s in place of the shims in %s", text.Some(r.Dirs, maxWhy), r.Shims))
			}
		}
	})
	return s.environ
}

// Search is the search path of the environment, once that is made.
func (s *Shell) Search() string { return stage.Lookup(s.environ, "PATH") }

// Check refuses a run with a gate whose programs are others than those of the user's shell. In a run that may land what is not
// proven, nothing is proven then. notes are what a person should know of it. Where a program has another version than the
// checkout names, agree decides, unless the project does; nil for no question.
func (s *Shell) Check(
	ctx context.Context, order *run.Spec, dir string, allow bool, agree func(context.Context, []string) (bool, error),
) (notes []string, err error) {
	environ := s.Environ(ctx, order, dir)
	yes := order.Project.Pins != spec.PinsRequire
	if len(s.conflicts) > 0 && order.Project.Pins == "" && agree != nil {
		yes, err = agree(ctx, s.conflicts)
	}
	if err == nil && len(s.conflicts) > 0 && !yes {
		err = usage.Errorf("%s", strings.Join(s.conflicts, "\n"))
	}
	if err != nil {
		return nil, err
	}
	differ, err := shim.Unlike(ctx, environ, gatesOf(order))
	words := shim.Words(gatesOf(order))
	for _, l := range s.lost {
		if l.Other != "" && slices.Contains(words, l.Name) {
			differ = append(differ, l.String())
		} else {
			s.notes = append(s.notes, l.String())
		}
	}
	switch {
	case err != nil:
		return nil, err
	case len(differ) > 0 && !allow:
		return nil, usage.With(usage.Errorf("%s\nPut the directory of the real program before it into PATH",
			strings.Join(differ, "\n")), usage.NoGates)
	}
	order.Programs = differ
	return append(slices.Concat(s.notes, s.conflicts, languages(environ, order.Project.Env)), differ...), nil
}

func gatesOf(order *run.Spec) (commands [][]string) {
	for _, g := range order.Project.Gates {
		commands = append(commands, g.Command)
	}
	return commands
}

// languages tells of the language of the user's shell where commands have another, which tests can depend on.
func languages(environ, seen []string) []string {
	var other []string
	for _, kv := range environ {
		name, value, _ := strings.Cut(kv, "=")
		of := name == "LANG" || name == "LANGUAGE" || strings.HasPrefix(name, "LC_") && !strings.HasPrefix(name, "LC_TERMINAL")
		if of && value != "" && value != "C.UTF-8" && !slices.Contains(seen, name) {
			other = append(other, name)
		}
	}
	if len(other) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("commands have the language C.UTF-8 in place of your %s; env: [%s] in .divisi/divisi.yaml "+
		"passes it on", text.Some(other, maxWhy), strings.Join(other, ", "))}
}
