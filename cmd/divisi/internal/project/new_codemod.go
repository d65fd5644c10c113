package project

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/configs"
	"divisi/internal/text"
	"divisi/internal/usage"
)

// codemodsDir is where codemods are, each in a folder of its name, unless --dir names another one.
const codemodsDir = ".divisi/codemods"

// codemodOptions are the flags of new codemod.
type codemodOptions struct {
	repo, lang, dir string
	force           bool
}

func newCodemod(g *Globals) *cobra.Command {
	var o codemodOptions
	c := &cobra.Command{
		Use:   "codemod NAME",
		Short: "Create a codemod: program, plan, role, and a script that tries it",
		Long: `Write a codemod into the repository: a program to edit, a plan that finds its files, try.sh, which runs
it on a few of them in a scratch copy and shows the diff, and its role, .divisi/roles/NAME.md. The
program is Go with the standard library, or a rule of ast-grep, or a transform of jscodeshift; without
--lang, what the repository's manifest and the installed programs suggest. An existing file is
overwritten only with --force.`,
		Example: "  divisi new codemod readfile\n  divisi new codemod rename-hook --lang jscodeshift --dir tools/rename-hook",
		RunE:    func(_ *cobra.Command, args []string) error { return g.newCodemod(args[0], &o) },
	}
	f := c.Flags()
	f.StringVar(&o.repo, "repo", ".", "the repository")
	f.StringVar(&o.lang, "lang", "", "the language of the program: "+strings.Join(configs.CodemodLangs, ", "))
	f.StringVar(&o.dir, "dir", "", "the folder of the repository for all but the role (default "+codemodsDir+"/NAME)")
	f.BoolVar(&o.force, "force", false, "overwrite files that exist")
	return c
}

func (g *Globals) newCodemod(name string, o *codemodOptions) error {
	if err := cli.CheckDir(o.repo); err != nil {
		return err
	}
	repo := cli.Top(o.repo)
	if _, err := os.Lstat(filepath.Join(repo, ".git")); err != nil {
		return usage.Errorf("%s is in no git repository: go to one, or name it with --repo", repo)
	}
	c, err := o.codemod(name, repo)
	if err != nil {
		return err
	}
	files, err := c.Files()
	if err != nil {
		return err
	}
	if err := o.write(repo, files); err != nil {
		return err
	}
	for _, f := range files {
		fmt.Fprintf(g.Out, "wrote %s\n", f.Path)
	}
	return g.nextOfCodemod(repo, c, files)
}

// plainPath is a path that needs no quotes in a shell, in YAML and in a comment.
var plainPath = regexp.MustCompile(`^[A-Za-z0-9_.][A-Za-z0-9_./-]*$`)

// codemod holds the flags and the findings about the repository.
func (o *codemodOptions) codemod(name, repo string) (*configs.Codemod, error) {
	c := &configs.Codemod{Name: name, Lang: o.lang, Dir: path.Join(codemodsDir, name)}
	if o.dir != "" {
		if c.Dir = path.Clean(filepath.ToSlash(o.dir)); !filepath.IsLocal(c.Dir) || !plainPath.MatchString(c.Dir) ||
			slices.ContainsFunc(strings.Split(c.Dir, "/"), func(part string) bool { return strings.EqualFold(part, ".git") }) {
			return nil, usage.Errorf("--dir %s: a run reads the program from the commit, so name a folder of the repository, "+
				"from its top, in letters, digits, _, - and dots, such as tools/%s", o.dir, name)
		}
	}
	if o.lang != "" && !slices.Contains(configs.CodemodLangs, o.lang) {
		return nil, usage.Errorf("--lang must be one of %s, not %q", strings.Join(configs.CodemodLangs, ", "), o.lang)
	}
	k := kindOf(repo)
	c.Language, c.Glob, c.Types = k.language, k.glob, k.types
	if c.Lang == "" {
		c.Lang = suggest(repo, k)
	}
	switch c.Lang {
	case configs.CodemodGo:
		c.Glob = "**/*.go"
		return c, needProgram(repo, c, "go", "install Go from https://go.dev/dl")
	case configs.CodemodJscodeshift:
		c.Glob = "**/*.{js,jsx,ts,tsx}"
		return c, needProgram(repo, c, c.Lang, "npm install --save-dev jscodeshift, and commit that")
	}
	return c, needProgram(repo, c, c.Lang, "npm install --save-dev @ast-grep/cli, and commit that (or another codemod: --lang "+
		strings.Join(configs.CodemodLangs, ", ")+")")
}

// kind is a kind of repository, by a file at its top.
type kind struct {
	manifest, language, glob string
	types                    bool
}

// kinds are in this order: a package.json beside a go.mod is of a part of the repository.
var kinds = []kind{
	{"go.mod", "Go", "**/*.go", true},
	{"tsconfig*.json", "TypeScript", "**/*.ts", true},
	{"package.json", "JavaScript", "**/*.js", false},
	{"pyproject.toml", "Python", "**/*.py", false},
	{"setup.py", "Python", "**/*.py", false},
	{"Cargo.toml", "Rust", "**/*.rs", true},
	{"pom.xml", "Java", "**/*.java", true},
}

// kindOf is the kind of a repository; Go where no manifest tells.
func kindOf(repo string) kind {
	for _, k := range kinds {
		if found, err := fs.Glob(os.DirFS(repo), k.manifest); err == nil && len(found) > 0 {
			return k
		}
	}
	return kinds[0]
}

// suggest returns the language of a codemod for a kind of repository.
func suggest(repo string, k kind) string {
	script := k.language == "TypeScript" || k.language == "JavaScript"
	switch {
	case k.language == "Go":
		return configs.CodemodGo
	case script && installed(repo, configs.CodemodJscodeshift) != "":
		return configs.CodemodJscodeshift
	}
	return configs.CodemodAstGrep
}

// installed is the path of a program among the repository's packages, or its name where PATH has it; "" where neither has.
func installed(repo, program string) string {
	local := path.Join("node_modules/.bin", program)
	if _, err := os.Stat(filepath.Join(repo, local)); err == nil {
		return local
	}
	if _, err := exec.LookPath(program); err == nil {
		return program
	}
	return ""
}

// needProgram names the program of a codemod, or what installs it.
func needProgram(repo string, c *configs.Codemod, program, install string) error {
	if c.Program = installed(repo, program); c.Program == "" {
		return usage.Errorf("the codemod needs %s, which is neither in PATH nor in node_modules/.bin of %s\nInstall it: %s",
			program, repo, install)
	}
	return nil
}

// write writes all files or, where one exists, none of them.
func (o *codemodOptions) write(repo string, files []configs.StarterFile) error {
	var exist []string
	for _, f := range files {
		if _, err := os.Lstat(filepath.Join(repo, f.Path)); err == nil {
			exist = append(exist, f.Path)
		}
	}
	if len(exist) > 0 && !o.force {
		return usage.Errorf("nothing was written, because these exist already: %s\n"+
			"Choose another name, or overwrite them with --force",
			strings.Join(exist, ", "))
	}
	for _, f := range files {
		if err := cli.WriteOver(repo, f.Path, f.Text, o.force); errors.Is(err, fs.ErrExist) {
			return usage.Errorf("%s already exists, and was not changed", f.Path)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// nextOfCodemod prints the commands that lead from the files to a landed change.
func (g *Globals) nextOfCodemod(repo string, c *configs.Codemod, files []configs.StarterFile) error {
	here, enter := cli.Top("."), ""
	if cwd, err := os.Getwd(); err != nil || here != cwd || here != repo {
		enter = "  cd " + text.Shell(repo) + "\n"
	}
	program, plan, try, role := files[0].Path, files[1].Path, files[2].Path, files[3].Path
	_, err := fmt.Fprintf(g.Out, `Next:
%s  ${EDITOR:-vi} %s %s   # what it looks for, what that becomes; match: its files
  sh %s   # what it does to three of them; your checkout stays as it is
  git add %s %s && git commit -m 'Add the codemod %s'   # a run reads the program from the commit
  %s run --plan %s
`, enter, program, plan, try, c.Dir, role, c.Name, g.Command(), plan)
	return err
}
