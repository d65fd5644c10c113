package files

import (
	"context"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/subagents/tool"
	"divisi/subagents/tool/commands"
	"divisi/subagents/tool/files/symbols"
)

// The bounds of one outline.
const (
	maxOutlined    = 30
	maxSymbols     = 500
	maxOutlineText = 34_000
)

type outlineArgs struct {
	Paths []string `json:"paths" jsonschema:"files or directories"`
	Docs  bool     `json:"docs,omitempty" jsonschema:"with doc comments (Go)"`
}

// Doing describes the call.
func (a outlineArgs) Doing() string { return "outlining " + strings.Join(a.Paths, " ") }

func (t *tree) outline(ctx context.Context, a outlineArgs) tool.Result {
	names, left, err := t.outlinedNames(a.Paths)
	if len(names) == 0 {
		return tool.Failed("%s", err)
	}
	found := make([]outlined, len(names))
	for i, name := range names {
		if ctx.Err() != nil {
			return tool.Failed("it was ended: %v", context.Cause(ctx))
		}
		tool.Beat(ctx, name)
		found[i] = t.outlineOf(name, a.Docs)
	}
	t.outlineOthers(ctx, found)
	return show(found, left, err)
}

// outlined is the outline of one file.
type outlined struct {
	name string
	symbols.File
	// other reports that ctags has to outline it.
	other bool
}

// outlineOthers has ctags outline the files that are not in Go.
func (t *tree) outlineOthers(ctx context.Context, found []outlined) {
	var names []string
	for _, o := range found {
		if o.other {
			names = append(names, o.name)
		}
	}
	if len(names) == 0 {
		return
	}
	var run func(context.Context, commands.Command) (commands.Output, error)
	if t.Runner != nil {
		run = t.Runner.Run
	}
	tagged := symbols.Ctags(ctx, run, names)
	for i := range found {
		if found[i].other {
			found[i].File = tagged[found[i].name]
		}
	}
}

// outlinedNames are the files that were asked for, those of directories too. The error reports what is wrong with the rest.
func (t *tree) outlinedNames(paths []string) (names []string, left int, err error) {
	if len(paths) == 0 {
		return nil, 0, errors.New("paths is empty: give files or directories")
	}
	var faults []error
	for _, p := range paths {
		all, err := t.expand(p)
		faults = append(faults, err)
		for _, name := range all {
			switch {
			case slices.Contains(names, name):
			case len(names) < maxOutlined:
				names = append(names, name)
			default:
				left++
			}
		}
	}
	return names, left, errors.Join(faults...)
}

func (t *tree) expand(name string) ([]string, error) {
	target, err := t.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := t.stat(target)
	if err != nil {
		return nil, explain(name, err)
	}
	if !info.IsDir() {
		return []string{target}, nil
	}
	root, there := t.at(target)
	dir, err := root.Open(there)
	if err != nil {
		return nil, explain(name, err)
	}
	entries, err := dir.ReadDir(maxVisited)
	if err = errors.Join(err, dir.Close()); err != nil && len(entries) == 0 {
		return nil, fmt.Errorf("%s has no files to outline", name)
	}
	var names []string
	for _, e := range entries {
		if e.Type().IsRegular() && !insideGit(e.Name()) {
			names = append(names, path.Join(target, e.Name()))
		}
	}
	slices.Sort(names)
	return names, nil
}

func (t *tree) outlineOf(name string, docs bool) outlined {
	o := outlined{name: name}
	data, _, err := t.readReal(name, name, maxEdited)
	switch {
	case err != nil:
		o.Note = err.Error()
	case text.Binary(data):
		o.Note = "it is a binary file"
	case path.Ext(name) == ".go":
		o.File = symbols.Go(data, docs)
	default:
		o.other = true
	}
	return o
}

// OutlineGo is the outline of a Go file as the tool shows it.
func OutlineGo(name string, data []byte) string {
	var b strings.Builder
	o := outlined{name: name, File: symbols.Go(data, false)}
	o.write(&b)
	return b.String()
}

// show writes the outlines. They are a failure only where there is none at all.
func show(found []outlined, left int, faults error) tool.Result {
	var b strings.Builder
	none := true
	for i, o := range found {
		if b.Len() > maxOutlineText {
			left += len(found) - i
			break
		}
		o.write(&b)
		none = none && o.Symbols == nil && o.Note != ""
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more files: ask for fewer at once]\n", left)
	}
	if faults != nil {
		fmt.Fprintf(&b, "[not outlined: %s]\n", faults)
	}
	if none {
		return tool.Failed("%s", b.String())
	}
	return tool.Text(b.String())
}

func (o *outlined) write(b *strings.Builder) {
	fmt.Fprintln(b, strings.TrimSuffix(safeName(o.name)+": "+o.Head, ": "))
	for i, s := range o.Symbols {
		if i == maxSymbols || b.Len() > maxOutlineText {
			fmt.Fprintf(b, "[%d more symbols: use search for the one you need]\n", len(o.Symbols)-i)
			break
		}
		fmt.Fprintf(b, "%6d-%-6d %s\n", s.Line, max(s.Line, s.End), text.Short(s.Text, symbols.MaxSymbol))
	}
	switch {
	case o.Note != "":
		fmt.Fprintf(b, "[%s]\n", text.Short(text.OneLine(o.Note), 500))
	case len(o.Symbols) == 0:
		b.WriteString("[no symbols]\n")
	}
}
