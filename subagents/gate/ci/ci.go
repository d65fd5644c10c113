package ci

import (
	"cmp"
	"context"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/git"
	"divisi/internal/text"
)

// Command is one command that CI runs to check a change, or to publish it.
type Command struct {
	File string
	Line int
	Job  string
	// Text is as a shell reads it in Dir, "." for the top of the tree, with the variables Env.
	Text string
	Dir  string
	Env  []string
	// Versions are those that a matrix runs it with, by the matrix's name for them.
	Versions map[string][]string
	// Why is why the file itself shows that it does not run here; empty where it does not.
	Why string
	// Paths are globs of the files that it alone is for; none where that is not known.
	Paths    []string
	services []service
	leaves   []leaf
	kinds    []string // of files that its leaves read, where these are known
}

// Name is the command in one line, as a project file names it.
func (c *Command) Name() string {
	name := text.OneLine(strings.ReplaceAll(c.line(), "\n", `\n`))
	if c.Dir != "." {
		name = "cd " + text.Shell(c.Dir) + " && " + name
	}
	return name
}

// line is the command with its variables, exported where the shell reads them, or there are more commands.
func (c *Command) line() string {
	if _, whole := split(c.Text); len(c.Env) > 0 && (whole || strings.Contains(c.Text, "$")) {
		return "export " + strings.TrimSpace(shelled(c.Env)) + "; " + c.Text
	}
	return shelled(c.Env) + c.Text
}

// Argv is the command as a gate has it.
func (c *Command) Argv() []string {
	parts, whole := split(c.Text)
	switch {
	case c.Dir != ".":
		return []string{"sh", "-c", "cd " + text.Shell(c.Dir) + " && " + c.line()}
	case whole || len(parts) != 1 || !parts[0].plain:
		return []string{"sh", "-c", c.line()}
	case len(c.Env) > 0 || assignment.MatchString(parts[0].words[0]):
		return slices.Concat([]string{"env"}, c.Env, parts[0].words)
	}
	return parts[0].words
}

// merge notes that the command runs at a second place, which counts where it needs less.
func (c *Command) merge(other *Command) {
	if c.Why != "" && other.Why == "" || c.Why == other.Why && len(c.services) > len(other.services) {
		*c, *other = *other, *c
	}
	if paths := slices.Concat(c.Paths, other.Paths); len(c.Paths) > 0 && len(other.Paths) > 0 {
		slices.Sort(paths)
		c.Paths = slices.Compact(paths)
	} else {
		c.Paths = nil
	}
	versions := map[string][]string{} // commands of a job share theirs
	for _, had := range []map[string][]string{c.Versions, other.Versions} {
		for name, list := range had {
			all := slices.Sorted(slices.Values(slices.Concat(versions[name], list)))
			versions[name] = slices.Compact(all)
		}
	}
	c.Versions = versions
}

// Found is what the files of a repository say of its CI.
type Found struct {
	Commands []Command
	// Errors are why some of the files, or parts of them, could not be read.
	Errors []error
	names  []string // of the commands
	expander
}

// maxCommands bounds what is listed of one repository.
const maxCommands = 2000

// places are where files of CI are.
var places = []string{
	".github/workflows", ".gitlab-ci.yml", ".circleci", ".azure-pipelines", "azure-pipelines.yml", "Jenkinsfile", ".travis.yml",
}

// system is a service that runs CI.
type system struct {
	files string // a glob
	read  func(f *Found, file string, data []byte)
}

var systems = []system{
	{".github/workflows/*.{yml,yaml}", (*Found).github},
	{".gitlab-ci.yml", (*Found).gitlab},
	{".circleci/config.yml", (*Found).circle},
	{"{.azure-pipelines/*.{yml,yaml},azure-pipelines.yml}", (*Found).azure},
	{"Jenkinsfile", (*Found).jenkins},
	{".travis.yml", (*Found).travis},
}

// travis reads .travis.yml.
func (f *Found) travis(file string, data []byte) {
	for _, doc := range f.yaml(file, data) {
		s := new(script)
		s.add(doc.get("script"), 0)
		f.script(place{file: file}.on(doc.get("os").text()), s)
	}
}

// At reads the CI of a commit.
func At(ctx context.Context, repo *git.Repo, commit string) (*Found, error) {
	entries, err := repo.FilesUnder(ctx, commit, places...)
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		files = append(files, e.Path)
	}
	return Read(files, func(file string) ([]byte, error) { return repo.ReadFile(ctx, commit, file, maxFile) }), nil
}

// Read lists the commands of the files of a repository, each once, in the order of the files. read returns a file's content, and
// an error for one that there is not.
func Read(files []string, read func(file string) ([]byte, error)) *Found {
	f := &Found{expander: expander{read, maxExpanded}}
	for _, file := range slices.Sorted(slices.Values(files)) {
		i := slices.IndexFunc(systems, func(s system) bool { return doublestar.MatchUnvalidated(s.files, file) })
		if i < 0 {
			continue
		}
		data, err := f.read(file)
		if err != nil {
			f.Errors = append(f.Errors, &FileError{File: file, Message: err.Error()})
			continue
		}
		systems[i].read(f, file, data)
	}
	f.hooks()
	return f
}

// yaml parses a file; what was read before an error is read.
func (f *Found) yaml(file string, data []byte) []node {
	docs, err := parse(file, data)
	if err != nil {
		f.Errors = append(f.Errors, err)
	}
	return docs
}

// add adds one command, unless it prepares, or is here already.
func (f *Found) add(p place, line int, command string, is kind) {
	if is == setup || len(f.Commands) >= maxCommands {
		return
	}
	c := Command{
		File: p.file, Line: line, Job: p.job, Text: command, Dir: path.Clean(cmp.Or(p.dir, ".")),
		Versions: p.versions, Why: p.why, Paths: p.paths, services: p.services,
	}
	p.settings(&c)
	switch found := expression.FindString(command + c.Dir); {
	case is == publish:
		c.Why = "it publishes or deploys"
	case c.Why != "":
	case containers.MatchString(command):
		c.Why = "it needs a container engine"
	case secret.MatchString(command):
		c.Why = "it needs the secret " + secret.FindStringSubmatch(command)[1]
	case found != "":
		c.Why = "what " + found + " is, its CI alone knows"
	case strings.HasPrefix(c.Dir, "..") || path.IsAbs(c.Dir):
		c.Why = "it runs outside of the repository"
	case compares.MatchString(command):
		c.Why = "it compares with what the steps before it wrote"
	}
	name := c.Name()
	i := slices.Index(f.names, name)
	if i >= 0 {
		c.leaves, c.kinds = f.Commands[i].leaves, f.Commands[i].kinds
	} else {
		c.leaves = f.leavesOf(c.Dir, shelled(c.Env)+command)
		c.kinds = kindsOf(c.leaves)
	}
	if len(c.kinds) > 0 {
		c.Paths = c.kinds
	}
	if i >= 0 {
		f.Commands[i].merge(&c)
	} else {
		f.Commands, f.names = append(f.Commands, c), append(f.names, name)
	}
}
