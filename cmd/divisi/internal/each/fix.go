package each

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/runs"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
)

// fixCommand is divisi fix, with its flags.
type fixCommand struct {
	Fix
	// command begins the run, as that of divisi each.
	command
}

// NewFix makes divisi fix.
func NewFix(g *runs.Globals) *cobra.Command {
	e := &fixCommand{command: command{Globals: g}}
	c := &cobra.Command{
		Use:   "fix [flags] [BRIEF] -- CHECKER | fix [flags] [BRIEF] --gate NAME",
		Short: "Fix what a linter or compiler finds, in rounds, until it is silent",
		Long: `Fix what a checker finds, in rounds until it is silent. In each round its findings are handed out, those of
a file to a task; one run of all gates proves the fixes together, and what is left goes into the next round.
The fixers are tried in this order, each for what the one before has left: the tool's own fixes where Divisi
knows them (such as eslint --fix), each --fixer, --ast-grep, and --role or --agent.

It ends when the checker is silent, or with the rest listed: after two rounds without progress, after --rounds,
or at the budget. What was proven until then is on the branch. The other gates are never redder.

In a repository without settings it first does what divisi init does. On a terminal it shows what it is about
to do, and asks.` + cli.CodesOfRuns(),
		Example: `  divisi fix -- ruff check .
  divisi fix --agent claude -- npx tsc --noEmit
  divisi fix --fixer 'goimports -w {files}' --role generator --by package -- golangci-lint run
  divisi fix --gate lint`,
		Args: e.args,
		RunE: func(c *cobra.Command, _ []string) error { return e.run(c.Context()) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usage.Errorf("%v\nA checker, with its own flags, goes after --: divisi fix -- ruff check .", err)
	})
	f := c.Flags()
	f.StringVar(&e.Gate, "gate", "", "a gate of the project is the checker")
	f.StringArrayVar(&e.Fixers, "fixer", nil,
		"a line of a shell that fixes: {files} are the files of a task, without it the line is for the whole tree (repeatable)")
	f.BoolVar(&e.NoOwn, "no-own-fixes", false, "leave the tool's own fixes out")
	f.StringVar(&e.By, "by", "", "whose findings one task gets: file, package, symbol, code or owner (default file)")
	f.IntVar(&e.Rounds, "rounds", 0, fmt.Sprintf("stop after this many rounds (default %d)", spec.DefaultRounds))
	f.IntVar(&e.AllowSuppress, "allow-suppress", 0, "land this many marks and casts that silence checkers without asking")
	syntaxFlags(f, &e.Pattern, &e.Rewrite, &e.Lang)
	f.StringVar(&e.Role, "role", "", "the role that fixes the rest, such as generator")
	e.endFlags(c)
	return c
}

// args takes the words before -- as the brief, and the words behind it as the checker.
func (e *fixCommand) args(c *cobra.Command, args []string) error {
	brief := args
	if at := c.ArgsLenAtDash(); at >= 0 {
		brief, e.Checker = args[:at], args[at:]
	}
	if e.Agent != "" && e.Role == "" {
		e.Role = spec.RoleGenerator
	}
	e.Brief = strings.Join(brief, " ")
	if e.Gate != "" && e.Checker != nil {
		return usage.Errorf("--gate and a checker after -- are two checkers: name one of them")
	}
	return nil
}

func (e *fixCommand) run(ctx context.Context) error {
	if err := cli.CheckDir(e.Repo); err != nil {
		return err
	}
	if err := e.readGate(ctx); err != nil {
		return err
	}
	top := cli.Top(e.Repo)
	e.IsPath = func(arg string) bool {
		_, err := os.Lstat(filepath.Join(top, filepath.FromSlash(arg)))
		return err == nil && filepath.IsLocal(arg)
	}
	change, beside, err := e.Change()
	if err != nil {
		return err
	}
	if e.save != "" {
		if err := e.write(change); err != nil || len(beside) == 0 {
			return err
		}
		gate, err := configs.YAML(spec.Project{Gates: beside})
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(e.Out, "The plan needs this gate in .divisi/divisi.yaml:\n%s", gate)
		return err
	}
	e.Gates = beside
	return e.start(ctx, change)
}

// readGate takes the checker from the gate of the project that --gate names.
func (e *fixCommand) readGate(ctx context.Context) error {
	if e.Gate == "" {
		return nil
	}
	o := e.Flags
	o.Trial = true
	p, err := e.Preview(ctx, &o)
	if err != nil {
		return err
	}
	var names []string
	for _, g := range p.Gates {
		if names = append(names, g.Name); g.Name == e.Gate {
			e.Checker = g.Command
		}
	}
	if e.Checker == nil {
		return usage.Errorf("--gate: the project has no gate %s; it has %s", text.Shell(e.Gate), text.Some(names, maxGates))
	}
	return nil
}
