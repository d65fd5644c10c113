package each

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/merge"
	"divisi/cmd/divisi/internal/runs"
	"divisi/configs"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
)

// command is divisi each, with its flags.
type command struct {
	*runs.Globals
	Line
	runs.Flags

	save string
	// merge has the run merged at its end, local also into the default branch of a remote.
	merge, local bool
}

// NewEach makes divisi each.
func NewEach(g *runs.Globals) *cobra.Command {
	e := &command{Globals: g}
	c := &cobra.Command{
		Use:   "each [flags] [BRIEF] [-- COMMAND {files}]",
		Short: "Change many files by one command, proven by your gates",
		Long: `Change many files by one line: a command after --, a pattern of ast-grep, or a brief for a role of a model.
Each directory with files is a task of its own, in a work tree of its own; gates prove the changes, and they
land on a branch, as those of divisi run do. {files} are the files of a task. Without --match the files are
those that have what a substitution of sed or perl looks for; else all.

In a repository without settings it first does what divisi init does. On a terminal it shows what it is
about to do, and asks.` + cli.CodesOfRuns(),
		Example: `  divisi each --then 'goimports -w {files}' -- sed -i 's/ioutil\.ReadFile/os.ReadFile/g' {files}
  divisi each --match 'log\.Print' --by package -- ./fix.sh {files}
  divisi each --ast-grep 'strings.Replace($A, $B, $C, -1)' --rewrite 'strings.ReplaceAll($A, $B, $C)' --lang go
  divisi each --from ../list.txt -- gofmt -s -w {files}
  divisi each --role generator "Move this package to slog" --match 'log\.Print'`,
		Args: e.args,
		RunE: func(c *cobra.Command, _ []string) error { return e.run(c.Context()) },
	}
	c.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usage.Errorf("%v\nA command, with its own flags, goes after --: divisi each -- sed -i 's/old/new/g' {files}", err)
	})
	f := c.Flags()
	f.StringVar(&e.Then, "then", "", "a line of a shell that runs after the command, such as 'gofmt -w {files}'")
	f.StringVar(&e.Match, "match", "", "only files whose text matches this expression (RE2)")
	f.StringVar(&e.Glob, "glob", "", "only files whose path matches, such as 'src/**/*.py'")
	f.StringVar(&e.By, "by", "", "unit of a task: file, dir, package or owner (default dir)")
	f.BoolVar(&e.Together, "together", false, "the files are right only together: test and land all of them as one, or none")
	f.StringVar(&e.From, "from", "", "a file with the paths of the files, a line each; - is standard input")
	syntaxFlags(f, &e.Pattern, &e.Rewrite, &e.Lang)
	f.StringVar(&e.Role, "role", "", "the role that does BRIEF, such as generator")
	e.endFlags(c)
	return c
}

func syntaxFlags(f *pflag.FlagSet, pattern, rewrite, lang *string) {
	f.StringVar(pattern, "ast-grep", "", "pattern for ast-grep, such as 'foo($A)'")
	f.StringVar(rewrite, "rewrite", "", "with --ast-grep: the text in place of a match")
	f.StringVar(lang, "lang", "", "with --ast-grep: the language, such as go, python or ts")
}

// endFlags are those of what becomes of a change, and of the run.
func (e *command) endFlags(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&e.save, "save", "", "write plan and role below .divisi/ under this name, and run nothing")
	f.BoolVar(&e.merge, "merge", false, "merge when all is proven, as divisi merge does, and never otherwise")
	f.BoolVar(&e.local, "local", false, "with --merge: into this branch without prompting, whatever it is")
	f.BoolVar(&e.AutoApprove, "yes", false, "begin without prompting; it does not trust the repository")
	e.AgentFlag(c)
	e.StartFlags(c)
	runs.GroupFlags(c)
	e.NoticeFlags(c)
}

// args takes the words before -- as the brief, and the words behind it as the command.
func (e *command) args(c *cobra.Command, args []string) error {
	brief := args
	if at := c.ArgsLenAtDash(); at >= 0 {
		brief, e.Command = args[:at], args[at:]
	}
	if e.Agent != "" && e.Role == "" && e.Command == nil {
		e.Role = spec.RoleGenerator
	}
	if len(brief) > 1 && e.Command == nil && e.Role == "" {
		return usage.Errorf("a command goes after --: divisi each -- %s", text.CommandLine(withFiles(brief)))
	}
	e.Brief = strings.Join(brief, " ")
	return nil
}

// withFiles has the place of the files in a command that has none.
func withFiles(command []string) []string {
	if slices.Contains(command, spec.ArgFiles) {
		return command
	}
	return append(slices.Clone(command), spec.ArgFiles)
}

func (e *command) run(ctx context.Context) error {
	if err := cli.CheckDir(e.Repo); err != nil {
		return err
	}
	if err := e.readList(); err != nil {
		return err
	}
	typed := e.Command
	var err error
	if e.Command, err = embed(typed, cli.Top(e.Repo)); err != nil {
		return err
	}
	e.Typed = typed
	change, err := e.Change()
	if err != nil {
		return err
	}
	if e.save != "" {
		return e.write(change)
	}
	return e.start(ctx, change)
}

// start shows a change on a terminal, and runs it.
func (e *command) start(ctx context.Context, change Change) error {
	if err := e.take(change); err != nil {
		return err
	}
	if !e.Interactive() && change.Guessed {
		e.Aside(display.Sanitize("The files are those with a match of " + change.Plan.Tasks[0].Shard.Match +
			", which is from the command; name others by --match"))
	}
	if e.Interactive() && !e.AutoApprove {
		if err := e.preview(ctx, change); err != nil {
			return inFlags(err)
		}
	}
	if e.merge {
		m := merge.Of(e.Globals, e.Repo, e.local)
		if err := m.Ready(ctx); err != nil {
			return err
		}
		e.Landed = m.Merge
	}
	return inFlags(e.Start(ctx, e.Flags))
}

// inFlags is an error about the plan, which no person has written, in the words of the line: with the flag that it is about.
func inFlags(err error) error {
	var in *configs.FileError
	if !errors.As(err, &in) || in.File != name {
		return err
	}
	faults := make([]string, len(in.Faults))
	for i, f := range in.Faults {
		faults[i] = f.Message
		if f.Suggest != "" {
			faults[i] += fmt.Sprintf(" (did you mean %q?)", f.Suggest)
		}
		flag, _, _ := strings.Cut(strings.TrimSpace(f.Source), ":")
		switch none := strings.HasPrefix(f.Message, "matches none"); {
		case none:
			faults[i] = "nothing is left to do, or the line names the wrong files: it " + f.Message
		case slices.Contains([]string{"match", "glob", "by", "role"}, flag):
			faults[i] = "--" + flag + ": " + faults[i]
		}
	}
	return usage.Errorf("%s", strings.Join(faults, "\n"))
}

// take has the run carry out a change.
func (e *command) take(c Change) error {
	plan, role, err := c.Texts("")
	if err != nil {
		return err
	}
	e.Plan = &orchestrator.File{Name: name, Data: []byte(plan)}
	if role != "" {
		e.Roles = []orchestrator.File{{Name: name + ".md", Data: []byte(role)}}
	}
	return nil
}

// maxList bounds a list of files, in bytes.
const maxList = 16 << 20

// readList reads the paths that --from names.
func (e *command) readList() error {
	if e.From == "" {
		return nil
	}
	in := e.In
	if e.From != "-" {
		f, err := os.Open(e.From)
		if err != nil {
			return usage.Errorf("--from %s: %v", e.From, err)
		}
		defer f.Close() // it is read only
		in = f
		if e.From, err = filepath.Abs(e.From); err != nil {
			return err
		}
	}
	data, err := io.ReadAll(io.LimitReader(in, maxList+1))
	switch {
	case err != nil:
		return usage.Errorf("--from %s: %v", e.From, err)
	case len(data) > maxList:
		return usage.Errorf("--from %s: it is larger than %d MiB", e.From, maxList>>20)
	}
	e.Files = []string{}
	top, missing := cli.Top(e.Repo), []string{}
	for _, line := range text.Lines(string(data)) {
		if line = strings.TrimRight(line, "\r"); line == "" {
			continue
		}
		file, err := inTop(top, line)
		if err != nil {
			return usage.Errorf("--from %s: %v", e.From, err)
		}
		if info, err := os.Lstat(filepath.Join(top, file)); err != nil || !info.Mode().IsRegular() {
			missing = append(missing, line)
		}
		e.Files = append(e.Files, filepath.ToSlash(file))
	}
	if len(missing) > 0 {
		return usage.Errorf("--from %s: no such file: %s", e.From, text.Some(missing, maxGates))
	}
	return nil
}

// inTop is the path from the top of the repository of a file that is named from the working directory, or from the top where that
// is elsewhere.
func inTop(top, name string) (string, error) {
	file, err := filepath.Abs(name)
	if err != nil {
		return "", err
	}
	here, err := os.Getwd()
	if err != nil {
		return "", err
	}
	if in, err := filepath.Rel(top, here); !filepath.IsAbs(name) && (err != nil || !filepath.IsLocal(in)) {
		file = filepath.Join(top, name)
	}
	in, err := filepath.Rel(top, file)
	if err != nil || !filepath.IsLocal(in) {
		return "", fmt.Errorf("%s is outside of the repository %s", name, top)
	}
	return in, nil
}

// write writes the plan and the role below .divisi/.
func (e *command) write(c Change) error {
	plan, role, err := c.Texts(e.save)
	if err != nil {
		return err
	}
	at := path.Join(".divisi/plans", e.save+".yaml")
	files := []configs.StarterFile{{Path: at, Text: plan}}
	if role != "" {
		files = append(files, configs.StarterFile{Path: path.Join(configs.RolesDir, e.save+".md"), Text: role})
		if _, err := configs.ParseRole(e.save+".md", role); err != nil {
			return err
		}
	}
	for _, f := range files {
		err := cli.WriteNew(cli.Top(e.Repo), f.Path, f.Text)
		if errors.Is(err, fs.ErrExist) {
			return usage.Errorf("%s already exists, and was not changed", f.Path)
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(e.Out, "wrote %s\n", f.Path)
	}
	_, err = fmt.Fprintf(e.Out, "Next:\n"+
		"  git add .divisi && git commit -m 'Add the change %s'   # a run reads the role from the commit\n"+
		"  %s run --plan %s\n", e.save, e.Globals.Command(), at)
	return err
}
