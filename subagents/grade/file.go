package grade

import (
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/subagents/grade/calls"
)

// File is a changed file that the tested tree has.
type File struct {
	Path string
	// Language is empty for data and prose. Compiled is set for a language whose programs are compiled before they run.
	Language string
	Compiled bool
	// Odd is why nothing can tell who reads it; empty for a regular file.
	Odd string
}

// languages are the endings of source files. What is no language of package calls is compiled, or run, by nothing that is known.
var languages = endings()

func endings() map[string]File {
	all := map[string]File{}
	for _, l := range []struct {
		language string
		compiled bool
		endings  string
	}{
		{calls.Go, true, "go"},
		{calls.C, true, "c h cc cpp cxx c++ hh hpp hxx h++ ipp tpp inl m mm s S asm cu cuh f f90 f95"},
		{calls.Rust, true, "rs"},
		{calls.Java, true, "java"},
		{calls.Kotlin, true, "kt"},
		{calls.Scala, true, "scala"},
		{calls.CSharp, true, "cs"},
		{calls.Swift, true, "swift"},
		{calls.TypeScript, true, "ts tsx mts cts"},
		{calls.JavaScript, false, "js jsx mjs cjs"},
		{calls.Python, false, "py pyi"},
		{calls.Ruby, false, "rb rake"},
		{calls.PHP, false, "php"},
		{calls.Shell, false, "sh bash bats zsh"},
		{calls.Perl, false, "pl pm t"},
		{calls.Lua, false, "lua"},
		{"F#", true, "fs"},
		{"Visual Basic", true, "vb"},
		{"Haskell", true, "hs"},
		{"OCaml", true, "ml mli"},
		{"Zig", true, "zig"},
		{"D", true, "d"},
		{"Nim", true, "nim"},
		{"Dart", true, "dart"},
		{"Erlang", true, "erl hrl"},
		{"Elixir", false, "ex exs"},
		{"Clojure", false, "clj cljs cljc"},
		{"Groovy", false, "groovy gradle"},
		{"Julia", false, "jl"},
		{"R", false, "r R"},
		{"PowerShell", false, "ps1 psm1"},
		{"Vue", true, "vue svelte astro"},
	} {
		for ending := range strings.FieldsSeq(l.endings) {
			all["."+ending] = File{Language: l.language, Compiled: l.compiled}
		}
	}
	return all
}

// fixtures are directories whose files are what tests read, whatever their endings.
var fixtures = []string{"testdata", "fixtures", "__fixtures__", "__snapshots__", "test-fixtures"}

func kindOf(name string) File {
	f := languages[path.Ext(name)]
	f.Path = name
	if slices.ContainsFunc(strings.Split(path.Dir(name), "/"), func(dir string) bool { return slices.Contains(fixtures, dir) }) {
		return File{Path: name}
	}
	return f
}

// FilesOf returns those of the changed paths that a work tree has, sorted.
func FilesOf(dir string, changed []string) ([]File, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // only read from
	var files []File
	for _, name := range slices.Compact(slices.Sorted(slices.Values(changed))) {
		info, err := root.Lstat(name)
		switch {
		case err != nil: // deleted: there is nothing to read
		case info.Mode().IsRegular():
			files = append(files, kindOf(name))
		case info.IsDir():
			files = append(files, File{Path: name, Odd: "a submodule"})
		default:
			files = append(files, File{Path: name, Odd: "a symbolic link"})
		}
	}
	return files, nil
}
