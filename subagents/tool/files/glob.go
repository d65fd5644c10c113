package files

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/subagents/tool"
)

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
			return tool.Failed("git did not report what it ignores: %v. Set ignored to see all files", err)
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
	dir      string
	patterns []string
	// known are the files that git does not ignore; nil means all.
	known                map[string]bool
	b                    strings.Builder
	shown, left, ignored int
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
	case g.shown == maxListed:
		g.left++
	default:
		g.shown++
		fmt.Fprintln(&g.b, safeName(name+mark(entry)))
	}
	return nil
}

func (g *globbed) text(complete bool) string {
	if g.shown == 0 {
		fmt.Fprintf(&g.b, "[no file below %s matches]\n", g.dir)
	}
	if g.left > 0 {
		fmt.Fprintf(&g.b, "[%d more: give a deeper path or narrower patterns]\n", g.left)
	}
	if g.ignored > 0 {
		fmt.Fprintf(&g.b, "[%d more match that git ignores; set ignored to see them]\n", g.ignored)
	}
	if !complete {
		fmt.Fprintf(&g.b, "[the tree has more than %d entries; the rest was not visited: give a deeper path]\n", maxVisited)
	}
	return g.b.String()
}
