package grade

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/sandbox/stage"
	"divisi/subagents/grade/calls"
)

// MaxRounds bounds how often a gate runs with errors in the files in question.
const MaxRounds = 5

// Plant writes an error into each of some files of a work tree, and returns the words by which what a gate prints names them.
// Nothing but a compiler or an interpreter finds the error: it is well formed for formatters. Who plants restores the tree.
func Plant(dir string, names []string) (marks map[string]string, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	marks = map[string]string{}
	for i, name := range names {
		mark := fmt.Sprintf("divisiProbe%dx", i)
		text, err := root.ReadFile(name)
		if err == nil {
			err = root.WriteFile(name, []byte(planted(name, string(text), mark)), 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("write an error into %s: %w", name, err)
		}
		marks[name] = mark
	}
	return marks, nil
}

// planted is a text with an error.
func planted(name, text, mark string) string {
	head, rest := "", text
	if strings.HasPrefix(text, "#!") {
		at := strings.IndexByte(text, '\n') + 1
		head, rest = text[:at], text[at:]
	}
	before := func(line string) string { return head + line + "\n" + rest }
	after := func(line string) string { return strings.TrimRight(text, "\n") + "\n\n" + line + "\n" }
	if path.Base(name) == "module-info.java" || strings.HasSuffix(name, ".d.ts") {
		return after("declare const " + mark + "v: " + mark + ";")
	}
	switch f := kindOf(name); f.Language {
	case calls.Go:
		return after("var _ = " + mark)
	case calls.C:
		if strings.EqualFold(path.Ext(name), ".s") || path.Ext(name) == ".asm" {
			return after("\t." + mark)
		}
		if strings.HasPrefix(path.Ext(name), ".f") {
			return after(mark + " " + mark)
		}
		return after("#error " + mark)
	case calls.Rust:
		return after(`compile_error!("` + mark + `");`)
	case calls.Java, calls.CSharp:
		return after("class " + mark + "C {\n    int x = " + mark + ";\n}")
	case calls.Kotlin:
		return after("private val " + mark + "v = " + mark)
	case calls.Scala:
		return after("class " + mark + "C {\n  val x: Int = " + mark + "\n}")
	case calls.Swift:
		return after("let " + mark + "v = " + mark)
	case calls.TypeScript:
		return after(mark + "();")
	case calls.JavaScript:
		return after(`throw new Error("` + mark + `");`)
	case calls.Python:
		return before(`raise Exception("` + mark + `")`)
	case calls.Ruby:
		return before(`raise "` + mark + `"`)
	case calls.Shell:
		return before("echo " + mark + " >&2\nexit 97")
	case calls.Perl:
		return before(`die "` + mark + `";`)
	case calls.Lua:
		return before(`error("` + mark + `")`)
	case calls.PHP:
		return after("throw new \\Exception('" + mark + "');")
	}
	return after(")) " + mark + " ((")
}

// Named returns the files whose marks are in what a gate printed.
func Named(marks map[string]string, output string) (named []string) {
	for name, mark := range marks {
		if strings.Contains(output, mark) {
			named = append(named, name)
		}
	}
	return named
}

// KeepGoing returns an environment in which make builds what it can after an error, so that one run names more files.
func KeepGoing(env []string) []string {
	flags := "k"
	if own := stage.Lookup(env, "MAKEFLAGS"); own != "" {
		flags = own + " -k"
	}
	return append(slices.Clone(env), "MAKEFLAGS="+flags)
}
