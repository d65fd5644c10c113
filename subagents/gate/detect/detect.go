package detect

import (
	"cmp"
	"context"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/git"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
)

const (
	// maxBuildFile bounds what is read of a file that describes a build, in bytes.
	maxBuildFile = 4 << 20
	// maxProjects bounds the sub-projects of one language; those nearest to the root are taken.
	maxProjects = 50
)

// Proposal holds the needs of a repository, as its files show them.
type Proposal struct {
	Gates []spec.Gate
	// Setup is the command that installs what the gates need, nil for none, and Why the files that show it. Needed reports
	// that they cannot run without it.
	Setup  []string
	Why    []string
	Needed bool
	// Ignored are the paths that setup fills and git ignores.
	Ignored []string
	// Derived are ignored paths that are made from tracked sources, and Regenerate is the command that makes them again.
	Derived    []string
	Regenerate []string
	// Notes name what was found and is in no gate.
	Notes []string
}

// Options report how far a proposal goes.
type Options struct {
	// Whole proposes all that can be installed for the gates, and gates that use it. Without it the gates are those that run on a
	// clean checkout with the programs of the machine, and Setup is still what a person may need.
	Whole bool
	// Has reports whether the machine has a program.
	Has func(program string) bool
}

// Installed reports whether a program is on this process's PATH.
func Installed(program string) bool {
	_, err := exec.LookPath(program)
	return err == nil
}

// At makes the proposal for a commit.
func At(ctx context.Context, repo *git.Repo, commit string, o Options) (Proposal, error) {
	entries, err := repo.Files(ctx, commit)
	if err != nil {
		return Proposal{}, err
	}
	files := make([]string, 0, len(entries))
	for _, e := range entries {
		files = append(files, e.Path)
	}
	return Of(files, func(path string) ([]byte, error) { return repo.ReadFile(ctx, commit, path, maxBuildFile) }, o), nil
}

// Of makes the proposal for tracked files (slash-separated, relative to the root) and the content of a few of them. It proposes
// only what the files show to be there; a file that cannot be read or understood proposes nothing.
func Of(files []string, read func(string) ([]byte, error), o Options) Proposal {
	d := &detector{
		Options: o, files: slices.Sorted(slices.Values(files)), known: map[string]bool{}, dirs: map[string]bool{}, read: read,
	}
	for _, file := range files {
		d.known[file] = true
		for dir := path.Dir(file); dir != "." && !d.dirs[dir]; dir = path.Dir(dir) {
			d.dirs[dir] = true
		}
	}
	d.taken = map[string]bool{}
	for _, language := range []func(){d.golang, d.node, d.python, d.rust, d.maven} {
		language()
	}
	if len(d.Gates) == 0 {
		d.make()
	}
	d.Setup = command(d.steps)
	for _, list := range []*[]string{&d.Why, &d.Ignored, &d.Derived} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return d.Proposal
}

type detector struct {
	Options
	Proposal
	files []string
	known map[string]bool // files
	dirs  map[string]bool // directories with tracked files
	taken map[string]bool // names of gates
	steps []step
	read  func(string) ([]byte, error)
}

// text is the content of a known file, or "".
func (d *detector) text(file string) string {
	if !d.known[file] {
		return ""
	}
	data, err := d.read(file)
	if err != nil {
		return ""
	}
	return string(data)
}

// under returns the files of a name, those nearest to the root first, without those of other people.
func (d *detector) under(name string) []string {
	var found []string
	for _, file := range d.files {
		if path.Base(file) == name && !foreign(file) {
			found = append(found, file)
		}
	}
	slices.SortStableFunc(found, func(a, b string) int { return cmp.Compare(strings.Count(a, "/"), strings.Count(b, "/")) })
	return found[:min(len(found), maxProjects)]
}

// foreign reports whether a file is in a directory that holds other people's code or data of tests, or whose name a command could
// take for a flag.
func foreign(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		switch dir {
		case "testdata", "vendor", "node_modules", "third_party", "fixtures", "__fixtures__", "examples", "templates":
			return true
		}
		return len(dir) > 1 && strings.ContainsAny(dir[:1], "._-")
	})
}

// add adds a gate of a directory, named after both.
func (d *detector) add(name, dir string, g spec.Gate) {
	g.Name = d.name(name, dir)
	d.Gates = append(d.Gates, g)
}

// maxSuffix keeps a gate's name within what a project file may say.
const maxSuffix = 44

var notInName = lazyregexp.New(`[^A-Za-z0-9_.]+`)

// name makes a gate's name from that of its tool and a directory, unlike those that are taken.
func (d *detector) name(tool, dir string) string {
	base := tool
	if dir != "." {
		base += "-" + text.Head(strings.Trim(notInName.ReplaceAllLiteralString(dir, "-"), "-"), maxSuffix)
	}
	name := base
	for n := 2; d.taken[name]; n++ {
		name = base + "-" + strconv.Itoa(n)
	}
	d.taken[name] = true
	return name
}

// step is a part of the setup, as a shell line in a directory.
type step struct{ dir, line string }

// install adds a part of the setup, shown to be needed by a file.
func (d *detector) install(dir, line, why string) {
	d.steps = append(d.steps, step{dir, line})
	d.Why = append(d.Why, why)
}

var plainLine = lazyregexp.New(`^[A-Za-z0-9 ._/=@:,+-]+$`)

// command makes one command of the steps.
func command(steps []step) []string {
	if len(steps) == 1 && steps[0].dir == "." && plainLine.MatchString(steps[0].line) {
		return strings.Fields(steps[0].line)
	}
	var lines []string
	for _, s := range steps {
		if s.dir != "." {
			s.line = "(cd " + text.Shell(s.dir) + " && " + s.line + ")"
		}
		lines = append(lines, s.line)
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{"sh", "-c", strings.Join(lines, " && ")}
}
