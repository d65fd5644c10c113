package tool

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec" // for the description.

	"google.golang.org/genai"
)

//go:embed outline.md
var outlineText string

// The bounds of one outline.
const (
	maxOutlined    = 30
	maxSymbols     = 500
	maxSymbol      = 200
	maxOutlineText = 34_000
)

// outline shows symbols. runner, which may be nil, carries out ctags: a file is hostile data, and ctags is written in C.
type outline struct {
	files  *tree
	runner Runner
}

// symbol is one thing that a file declares, with its lines.
type symbol struct {
	line, end int
	text      string
}

// outlined is what was found in one file; note says what is wrong with it.
type outlined struct {
	name, head, note string
	symbols          []symbol
	// other says that it waits for ctags.
	other bool
}

// Declaration is what the model is told.
func (t *outline) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{
		Name: spec.ToolOutline, Description: outlineText,
		ParametersJsonSchema: object(properties{
			"paths": textList("Files and directories, relative to the top."),
			"docs":  property("boolean", "Go: also the first line of each doc comment. Default false."),
		}, "paths"),
	}
}

// Effect is Reads: it only looks.
func (t *outline) Effect(Call) Effect { return Reads }

// Doing names what the call is about.
func (t *outline) Doing(call Call) string {
	return "outlining " + strings.Join(call.texts("paths"), " ")
}

// Run carries out one call.
func (t *outline) Run(ctx context.Context, call Call) Result {
	names, left, err := t.names(call.texts("paths"))
	if len(names) == 0 {
		return Failed("%s", err)
	}
	found := make([]outlined, len(names))
	for i, name := range names {
		if ctx.Err() != nil {
			return Failed("it was ended: %v", context.Cause(ctx))
		}
		Beat(ctx, name)
		found[i] = t.file(name, call.flag("docs"))
	}
	t.others(ctx, found)
	return show(found, left, err)
}

// names are the files that were asked for, those of directories too. The error says what is wrong with the rest.
func (t *outline) names(paths []string) (names []string, left int, err error) {
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

func (t *outline) expand(name string) ([]string, error) {
	target, err := t.files.resolve(name)
	if err != nil {
		return nil, err
	}
	info, err := t.files.root.Stat(target)
	if err != nil {
		return nil, explain(name, err)
	}
	if !info.IsDir() {
		return []string{target}, nil
	}
	dir, err := t.files.root.Open(target)
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

func (t *outline) file(name string, docs bool) outlined {
	o := outlined{name: name}
	data, _, err := t.files.readReal(name, name, maxEdited)
	switch {
	case err != nil:
		o.note = err.Error()
	case binary(data):
		o.note = "it is a binary file"
	case path.Ext(name) == ".go":
		o.head, o.symbols, o.note = goSymbols(data, docs)
	default:
		o.other = true
	}
	return o
}

// show writes the outlines. They are a failure only where there is none at all.
func show(found []outlined, left int, faults error) Result {
	var b strings.Builder
	none := true
	for i, o := range found {
		if b.Len() > maxOutlineText {
			left += len(found) - i
			break
		}
		o.write(&b)
		none = none && o.symbols == nil && o.note != ""
	}
	if left > 0 {
		fmt.Fprintf(&b, "[%d more files: ask for fewer at once]\n", left)
	}
	if faults != nil {
		fmt.Fprintf(&b, "[not outlined: %s]\n", faults)
	}
	if none {
		return Failed("%s", b.String())
	}
	return Text(b.String())
}

func (o *outlined) write(b *strings.Builder) {
	fmt.Fprintln(b, strings.TrimSuffix(safeName(o.name)+": "+o.head, ": "))
	for i, s := range o.symbols {
		if i == maxSymbols || b.Len() > maxOutlineText {
			fmt.Fprintf(b, "[%d more symbols: use search for the one you need]\n", len(o.symbols)-i)
			break
		}
		fmt.Fprintf(b, "%6d-%-6d %s\n", s.line, max(s.line, s.end), short(s.text, maxSymbol))
	}
	switch {
	case o.note != "":
		fmt.Fprintf(b, "[%s]\n", short(printable(o.note), 500))
	case len(o.symbols) == 0:
		b.WriteString("[no symbols]\n")
	}
}
