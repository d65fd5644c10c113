package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed glob.md
var globText string

// glob finds files by name. Without a history nothing counts as ignored.
type glob struct {
	files   *tree
	history History
}

// Declaration is what the model is told.
func (t *glob) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolGlob, Description: globText,
		ParametersJsonSchema: object(properties{
			"patterns": textList("Patterns with *, **, ?, [abc] and {a,b}, relative to path. One without / matches names."),
			"path":     property("string", "Directory to look in, relative to the top. Default: the top."),
			"ignored":  property("boolean", "Also files that git ignores. Default false."),
		}, "patterns"),
	}
}

// Effect is Reads: it only looks.
func (t *glob) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *glob) Doing(call Call) string {
	return "looking for " + strings.Join(call.texts("patterns"), " ")
}

// Run carries out one call.
func (t *glob) Run(ctx context.Context, call Call) Result {
	patterns, err := globPatterns(call.texts("patterns"))
	if err != nil {
		return Failed("%s", err)
	}
	dir, err := t.files.directory(call.text("path"))
	if err != nil {
		return Failed("%s", err)
	}
	g := &globbed{dir: dir, patterns: patterns}
	if t.history != nil && !call.flag("ignored") {
		known, err := t.history.Files(ctx)
		if err != nil {
			return Failed("git could not say what it ignores: %v. Set ignored to see all files", err)
		}
		g.known = make(map[string]bool, len(known))
		for _, name := range known {
			g.known[name] = true
		}
	}
	complete, err := t.files.walk(ctx, dir, g.visit)
	if err != nil {
		return Failed("look for files below %s: %s", dir, err)
	}
	return Text(g.text(complete))
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
			faults = append(faults, fmt.Errorf("pattern %q leads out of path: give one such as **/*.go", short(p, 200)))
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
		fmt.Fprintf(&g.b, "[the tree has more than %d entries; the rest was not looked at: give a deeper path]\n", maxVisited)
	}
	return g.b.String()
}
