package files

import (
	"context"
	"fmt"
	"io/fs"
	"math"
	"path"
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
	dir, glob string
	depth     int
	b         strings.Builder
	shown     int
	left      int
}

func (l *listing) visit(name string, entry fs.DirEntry) error {
	if name == l.dir {
		return nil
	}
	inside := below(l.dir, name)
	deep := strings.Count(inside, "/") + 1
	switch {
	case entry.IsDir() && deep >= l.depth:
		l.add(name+"/", l.glob == "")
		return fs.SkipDir
	case entry.IsDir():
		return nil
	case l.glob == "" || globMatches(l.glob, inside):
		l.add(name+mark(entry), true)
	}
	return nil
}

func (l *listing) add(line string, wanted bool) {
	switch {
	case !wanted:
	case l.shown < maxListed:
		l.shown++
		fmt.Fprintln(&l.b, safeName(line))
	default:
		l.left++
	}
}

func (l *listing) text(complete bool) string {
	switch {
	case l.shown == 0 && l.glob != "":
		return fmt.Sprintf("[no file below %s matches %s]", l.dir, l.glob)
	case l.shown == 0:
		return fmt.Sprintf("[%s is empty]", l.dir)
	}
	if l.left > 0 {
		fmt.Fprintf(&l.b, "[%d more: give a deeper path, a narrower glob or a smaller depth]\n", l.left)
	}
	if !complete {
		fmt.Fprintf(&l.b, "[the tree has more than %d entries; the rest was not visited: give a deeper path]\n", maxVisited)
	}
	return l.b.String()
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
