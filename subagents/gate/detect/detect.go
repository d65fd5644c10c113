package detect

import (
	"cmp"
	"context"
	"fmt"
	"os/exec"
	"path"
	"slices"
	"strconv"
	"strings"

	"divisi/internal/git"
	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate/detect/services"
)

const (
	// maxBuildFile bounds what is read of a file that describes a build, in bytes.
	maxBuildFile = 4 << 20
	// maxProjects bounds the sub-projects of one language; those nearest to the root are taken.
	maxProjects = 50
	// maxLooked bounds the files of one name that are read to find them.
	maxLooked = 500
)

// Proposal holds the needs of a repository, as its files show them.
type Proposal struct {
	Gates []spec.Gate
	// Setup is the command that installs what the gates need, nil for none, and Why the files that show it. Needed reports
	// that they cannot run without it.
	Setup  []string
	Why    []string
	Needed bool
	// Bare is Setup without the scripts of the packages, for where one of these fails; nil where it has none.
	Bare []string
	// Instead are gates to try in place of one that proves nothing, by its name: what it runs, in part.
	Instead map[string][]spec.Gate
	// Ignored are the paths that setup fills and git ignores.
	Ignored []string
	// Derived are ignored paths that are made from tracked sources, and Regenerate is the command that makes them again.
	Derived    []string
	Regenerate []string
	// Notes name what was found and is in no gate.
	Notes []string
	// Beside are programs that the gates may need beside them. They are written as comments, unless Serve takes them.
	Beside services.Proposal
	Serve  bool
}

// Options report how far a proposal goes.
type Options struct {
	// Whole proposes all that can be installed for the gates, and gates that use it. Without it the gates are those that run on a
	// clean checkout with the programs of the machine, and Setup is still what a person may need.
	Whole bool
	// Has reports whether the machine has a program.
	Has func(program string) bool
	// Servers finds the installed programs of a name for services; nil proposes none.
	Servers func(program string) []services.Installed
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
	d.taken, d.texts = map[string]bool{}, map[string]string{}
	d.each([]language{
		{"go", d.golang},
		{"node", d.node},
		{"python3", d.python},
		{"cargo", d.rust},
		{"java", d.maven},
		{"java", d.gradle},
		{"", d.native},
	})
	d.note()
	d.Setup = command(d.steps)
	for i := range d.steps {
		d.steps[i].line = cmp.Or(d.steps[i].bare, d.steps[i].line)
	}
	if bare := command(d.steps); !slices.Equal(bare, d.Setup) {
		d.Bare = bare
	}
	if o.Servers != nil {
		others := func(f string) bool { return foreign(f) && !strings.HasPrefix(f, ".github/") }
		d.Beside = services.Of(slices.DeleteFunc(slices.Clone(d.files), others), read, o.Servers)
	}
	for _, list := range []*[]string{&d.Why, &d.Ignored, &d.Derived, &d.Notes} {
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
	left  []left
	read  func(string) ([]byte, error)
	texts map[string]string // that were read
}

// text is the content of a known file, or "".
func (d *detector) text(file string) string {
	content, had := d.texts[file]
	if had || !d.known[file] {
		return content
	}
	if data, err := d.read(file); err == nil {
		content = string(data)
	}
	d.texts[file] = content
	return content
}

// under returns the files of a name, those nearest to the root first, without those of other people.
func (d *detector) under(name string) []string {
	var found []string
	for _, file := range d.files {
		if path.Base(file) == name && !foreign(file) {
			found = append(found, file)
		}
	}
	slices.SortStableFunc(found, nearer)
	if len(found) > maxLooked {
		d.Notes = append(d.Notes, fmt.Sprintf("of %d files named %s only the first %d are read", len(found), name, maxLooked))
	}
	return found[:min(len(found), maxLooked)]
}

// nearer compares the distances of paths from the root.
func nearer(a, b string) int { return cmp.Compare(depth(a), depth(b)) }

func depth(p string) int {
	if p == "." {
		return -1
	}
	return strings.Count(p, "/")
}

// home returns the directory of a file of some name that a path is nearest below; "" for none.
func (d *detector) home(file string, names ...string) string {
	for dir := path.Dir(file); ; dir = path.Dir(dir) {
		if slices.ContainsFunc(names, func(name string) bool { return d.known[path.Join(dir, name)] }) {
			return dir
		}
		if dir == "." {
			return ""
		}
	}
}

// within reports whether a path is a directory or lies below it.
func within(file, dir string) bool {
	return dir == "." || file == dir || strings.HasPrefix(file, dir+"/")
}

// foreign reports whether a file is in a directory that holds other people's code or data of tests, or whose name a command could
// take for a flag.
func foreign(file string) bool {
	return slices.ContainsFunc(strings.Split(path.Dir(file), "/"), func(dir string) bool {
		switch dir {
		case "testdata", "vendor", "node_modules", "third_party", "third-party", "thirdparty", "fixtures", "__fixtures__",
			"example", "examples", "templates":
			return true
		}
		return len(dir) > 1 && strings.ContainsAny(dir[:1], "._-")
	})
}

// add adds a gate of a directory, named after both.
func (d *detector) add(name, dir string, g spec.Gate) {
	g.Name, g.Paths = d.name(name, dir), d.paths(dir)
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

// step is a part of the setup, as a shell line in a directory. It may fail where a gate of its own tells it.
type step struct {
	dir, line, why string
	may            bool
	bare           string // the line without the scripts of packages; "" for the same
}

// install adds a part of the setup, shown to be needed by a file.
func (d *detector) install(dir, line, why string) {
	d.steps = append(d.steps, step{dir: dir, line: line, why: why})
	d.Why = append(d.Why, why)
}

// try adds a part of the setup for a project beside others, which are to be tried also where it fails: its gate tells then what
// is missing.
func (d *detector) try(dir, line, why string, may bool) {
	d.install(dir, line, why)
	d.steps[len(d.steps)-1].may = may
}

var plainLine = lazyregexp.New(`^[A-Za-z0-9 ._/=@:,+-]+$`)

// command makes one command of the steps.
func command(steps []step) []string {
	if len(steps) == 1 && steps[0].dir == "." && !steps[0].may && plainLine.MatchString(steps[0].line) {
		return strings.Fields(steps[0].line)
	}
	var lines []string
	for _, s := range steps {
		if s.dir != "." {
			s.line = "(cd " + text.Shell(s.dir) + " && " + s.line + ")"
		}
		if s.may {
			s.line = "{ " + s.line + " || echo " + text.Shell("not installed: "+s.why) + "; }"
		}
		lines = append(lines, s.line)
	}
	if len(lines) == 0 {
		return nil
	}
	return []string{"sh", "-c", strings.Join(lines, " && ")}
}
