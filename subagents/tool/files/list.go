package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/subagents/tool"

	"github.com/bmatcuk/doublestar/v4"
)

// maxListed bounds the entries of one listing.
const maxListed = 1000

type listArgs struct {
	Path  string `json:"path,omitempty"`
	Glob  string `json:"glob,omitempty" jsonschema:"such as **/*.go; without / it matches names"`
	Depth int    `json:"depth,omitempty" jsonschema:"default 2, all with a glob"`
}

// Doing describes the call.
func (a listArgs) Doing() string {
	if a.Glob != "" {
		return "listing " + a.Glob
	}
	return "listing " + path.Join(".", a.Path)
}

func (t *tree) list(ctx context.Context, a listArgs) tool.Result {
	if err := checkGlob(a.Glob); err != nil {
		return tool.Failed("glob %s", err)
	}
	dir, err := t.directory(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	l := &listing{dir: dir, glob: a.Glob, depth: a.Depth}
	if l.depth <= 0 {
		l.depth = 2
		if a.Glob != "" {
			l.depth = math.MaxInt
		}
	}
	complete, err := t.walk(ctx, dir, l.visit)
	if err != nil {
		return tool.Failed("list %s: %s", dir, err)
	}
	return tool.Text(l.text(complete))
}

// listing collects the entries of one walk.
type listing struct {
	names

	dir, glob string
	depth     int
}

func (l *listing) visit(name string, entry fs.DirEntry) error {
	if name == l.dir {
		return nil
	}
	inside := below(l.dir, name)
	deep := strings.Count(inside, "/") + 1
	switch {
	case entry.IsDir() && deep >= l.depth:
		if l.glob == "" {
			l.add(name + "/")
		}
		return fs.SkipDir
	case entry.IsDir():
		return nil
	case l.glob == "" || globMatches(l.glob, inside):
		l.add(name + mark(entry))
	}
	return nil
}

func (l *listing) text(complete bool) string {
	switch {
	case l.shown == 0 && l.glob != "":
		return fmt.Sprintf("[no file below %s matches %s]", l.dir, l.glob)
	case l.shown == 0:
		return fmt.Sprintf("[%s is empty]", l.dir)
	}
	return l.names.text(complete, "a narrower glob or a smaller depth", "")
}

// names are the names that one walk has found, at most maxListed.
type names struct {
	b           strings.Builder
	shown, left int
}

func (n *names) add(name string) {
	if n.shown == maxListed {
		n.left++
		return
	}
	n.shown++
	fmt.Fprintln(&n.b, safeName(name))
}

// text is the names, how to see those that are left, and a note of the caller's.
func (n *names) text(complete bool, narrower, note string) string {
	if n.left > 0 {
		fmt.Fprintf(&n.b, "[%d more: give a deeper path, %s]\n", n.left, narrower)
	}
	n.b.WriteString(note)
	if !complete {
		fmt.Fprintf(&n.b, "[the tree has more than %d entries; the rest was not visited: give a deeper path]\n", maxVisited)
	}
	return n.b.String()
}

func mark(entry fs.DirEntry) string {
	switch {
	case entry.Type()&fs.ModeSymlink != 0:
		return "@"
	case !entry.Type().IsRegular():
		return "="
	}
	return ""
}

// below is a path relative to one of its parents.
func below(dir, name string) string {
	if dir == "." {
		return name
	}
	return strings.TrimPrefix(name, dir+"/")
}

// checkGlob refuses a glob that is malformed, or whose alternatives would have to be tried in too many combinations.
func checkGlob(glob string) error {
	const longest, combinations = 1000, 1000
	groups, commas := float64(strings.Count(glob, "{")), float64(strings.Count(glob, ","))
	switch {
	case len(glob) > longest || !doublestar.ValidatePattern(glob):
		return fmt.Errorf("%q is malformed: use *, **, ?, [abc] and {a,b}", text.Short(glob, 200))
	case groups > 0 && math.Pow(1+commas/groups, groups) > combinations:
		return fmt.Errorf("%q has too many alternatives: use several simpler ones", text.Short(glob, 200))
	}
	return nil
}

func globMatches(glob, inside string) bool {
	if !strings.Contains(glob, "/") {
		inside = path.Base(inside)
	}
	ok, err := doublestar.Match(glob, inside)
	return ok && err == nil
}

// safeName shows a name with characters that would break a line as a quoted one.
func safeName(name string) string {
	if quoted := fmt.Sprintf("%q", name); strings.Contains(quoted[1:len(quoted)-1], `\`) {
		return quoted
	}
	return name
}

type globArgs struct {
	Patterns []string `json:"patterns" jsonschema:"with *, **, ?, [abc], {a,b}; without / it matches names"`
	Path     string   `json:"path,omitempty"`
	Ignored  bool     `json:"ignored,omitempty" jsonschema:"also files that git ignores"`
}

// Doing describes the call.
func (a globArgs) Doing() string { return "looking for " + strings.Join(a.Patterns, " ") }

// glob finds files by name. Without a history nothing counts as ignored.
func (t *tree) glob(ctx context.Context, a globArgs) tool.Result {
	patterns, err := globPatterns(a.Patterns)
	if err != nil {
		return tool.Failed("%s", err)
	}
	dir, err := t.directory(a.Path)
	if err != nil {
		return tool.Failed("%s", err)
	}
	g := &globbed{dir: dir, patterns: patterns}
	if t.History != nil && !a.Ignored {
		known, err := t.History.Files(ctx)
		if err != nil {
			return tool.Failed("git did not report ignored files: %v. Set ignored to see all files", err)
		}
		g.known = make(map[string]bool, len(known))
		for _, name := range known {
			g.known[name] = true
		}
	}
	complete, err := t.walk(ctx, dir, g.visit)
	if err != nil {
		return tool.Failed("look for files below %s: %s", dir, err)
	}
	return tool.Text(g.text(complete))
}

// globPatterns checks all patterns at once.
func globPatterns(patterns []string) (clean []string, err error) {
	if len(patterns) == 0 {
		return nil, errors.New("give at least one pattern, such as **/*.go")
	}
	var faults []error
	for _, p := range patterns {
		p = strings.TrimPrefix(p, "./")
		switch {
		case p == "":
			faults = append(faults, errors.New("a pattern is empty"))
		case strings.HasPrefix(p, "/") || slices.Contains(strings.Split(p, "/"), ".."):
			faults = append(faults, fmt.Errorf("pattern %q leads out of path: give one such as **/*.go", text.Short(p, 200)))
		default:
			if err := checkGlob(p); err != nil {
				faults = append(faults, fmt.Errorf("pattern %w", err))
			}
		}
		clean = append(clean, p)
	}
	return clean, errors.Join(faults...)
}

// globbed collects the files of one walk.
type globbed struct {
	names

	dir      string
	patterns []string
	// known are the files that git does not ignore; nil means all.
	known   map[string]bool
	ignored int
}

func (g *globbed) visit(name string, entry fs.DirEntry) error {
	link := entry.Type()&fs.ModeSymlink != 0
	if !link && !entry.Type().IsRegular() {
		return nil
	}
	inside := below(g.dir, name)
	switch {
	case !slices.ContainsFunc(g.patterns, func(p string) bool { return globMatches(p, inside) }):
	case g.known != nil && !g.known[name]:
		g.ignored++
	default:
		g.add(name + mark(entry))
	}
	return nil
}

func (g *globbed) text(complete bool) string {
	note := ""
	if g.shown == 0 {
		note = fmt.Sprintf("[no file below %s matches]\n", g.dir)
	}
	if g.ignored > 0 {
		note += fmt.Sprintf("[%d more match that git ignores; set ignored to see them]\n", g.ignored)
	}
	return g.names.text(complete, "or narrower patterns", note)
}
