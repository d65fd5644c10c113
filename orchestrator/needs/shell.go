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
		s.environ, replaced, s.notes = shim.Environ(ctx, os.Environ(), dir, ran, environment.Names(ran))
		var pinned []string
		s.environ, pinned = shim.Pinned(ctx, s.environ, dir, append(shim.Words(ran), environment.Names(ran)...))
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
// proven, nothing is proven then. notes are what a person should know of it.
func (s *Shell) Check(ctx context.Context, order *run.Spec, dir string, allow bool) (notes []string, err error) {
	environ := s.Environ(ctx, order, dir)
	differ, err := shim.Unlike(ctx, environ, gatesOf(order))
	switch {
	case err != nil:
		return nil, err
	case len(differ) > 0 && !allow:
		return nil, usage.With(usage.Errorf("%s\nPut the directory of the real program before it into PATH",
			strings.Join(differ, "\n")), usage.NoGates)
	}
	order.Programs = differ
	return append(append(s.notes, languages(environ, order.Project.Env)...), differ...), nil
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
