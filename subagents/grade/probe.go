package grade

import (
	"crypto/rand"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox/stage"
	"divisi/subagents/grade/calls"
)

// MaxRounds bounds how often a gate runs with errors in the files in question.
const MaxRounds = 5

// Mark is the error in a file: the word by which a compiler or an interpreter names it. lines are those of the text that have the
// word: what only prints the file prints them as they are. Of a language in framed compilers do so too.
type Mark struct {
	word   string
	lines  []string
	framed bool
}

// Plant writes an error into each of some files of a work tree, and returns the marks of all. Nothing but a compiler or an
// interpreter finds the error: it is well formed for formatters. Who plants restores the tree.
func Plant(dir string, names []string) (marks map[string]Mark, err error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open the work tree: %w", err)
	}
	defer root.Close() // a handle
	marks = map[string]Mark{}
	secret := rand.Text()[:10] // what prints the word has read it from a file
	for i, name := range names {
		m := Mark{word: fmt.Sprintf("divisiProbe%s%dx", secret, i)}
		text, err := root.ReadFile(name)
		if err == nil {
			var now string
			now, m.framed = planted(name, string(text), m.word)
			m.lines = linesWith(now, m.word)
			err = root.WriteFile(name, []byte(now), 0o600)
		}
		if err != nil {
			return nil, fmt.Errorf("write an error into %s: %w", name, err)
		}
		marks[name] = m
	}
	return marks, nil
}

// linesWith returns the lines of a text that have a word, without what surrounds them.
func linesWith(text, word string) (lines []string) {
	for at := strings.Index(text, word); at >= 0; at = strings.Index(text, word) {
		begin := strings.LastIndexByte(text[:at], '\n') + 1
		line, rest, _ := strings.Cut(text[begin:], "\n")
		lines, text = append(lines, strings.TrimSpace(line)), rest
	}
	return lines
}

// planted is a text with an error, and whether compilers of its language print the line alone. Code that runs puts the mark
// together: no text has it.
func planted(name, text, mark string) (now string, framed bool) {
	head, rest := "", text
	if strings.HasPrefix(text, "#!") {
		at := strings.IndexByte(text, '\n') + 1
		head, rest = text[:at], text[at:]
	}
	before := func(line string) (string, bool) { return head + line + "\n" + rest, false }
	after := func(line string) (string, bool) { return strings.TrimRight(text, "\n") + "\n\n" + line + "\n", false }
	if path.Base(name) == "module-info.java" || strings.HasSuffix(name, ".d.ts") {
		return after("declare const " + mark + "v: " + mark + ";")
	}
	apart := strings.Replace(mark, "P", "-P", 1)
	switch f := kindOf(name); f.Language {
	case calls.Go:
		return after("var _ = " + mark)
	case calls.C:
		if strings.EqualFold(path.Ext(name), ".s") || path.Ext(name) == ".asm" {
			return after("\t." + mark)
		}
		if !strings.HasPrefix(path.Ext(name), ".f") {
			return after("#error " + mark)
		}
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
		return after(`throw new Error("` + apart + `".replace("-", ""));`)
	case calls.Python:
		return before(`raise Exception("` + apart + `".replace("-", ""))`)
	case calls.Ruby:
		return before(`raise "` + apart + `".delete("-")`)
	case calls.Shell:
		return before("echo " + strings.Replace(apart, "-", "''", 1) + " >&2\nexit 97")
	case calls.Perl:
		return before(`die join("", "` + strings.Replace(apart, "-", `", "`, 1) + `");`)
	case calls.Lua:
		return before(`error("` + strings.Replace(apart, "-", `" .. "`, 1) + `")`)
	case calls.PHP:
		return after("throw new \\Exception(str_replace('-', '', '" + apart + "'));")
	}
	now, _ = after(")) " + mark + " ((")
	return now, true
}

// Named returns the files whose marks are in what a gate printed. A line of a file as it is shows that the gate prints the file,
// such as by git diff. copies reports that it may do so: then it shows nothing of a framed language either.
func Named(marks map[string]Mark, output string, copies bool) (named []string) {
	for name, m := range marks {
		if m.in(output, copies) {
			named = append(named, name)
		}
	}
	return named
}

var errorWord = lazyregexp.New(`(?i)\berror\b[^:]{0,20}: `)

// in reports whether a line of an output has the mark, and is no copy of the file.
func (m *Mark) in(output string, copies bool) bool {
	for {
		at := strings.Index(output, m.word)
		if at < 0 {
			return false
		}
		begin := strings.LastIndexByte(output[:at], '\n') + 1
		line, rest, _ := strings.Cut(output[begin:], "\n")
		if m.framed && !copies {
			return true
		}
		if !slices.ContainsFunc(m.lines, func(own string) bool {
			before, _, copied := strings.Cut(line, own)
			return copied && !errorWord.MatchString(before)
		}) {
			return true
		}
		output = rest
	}
}

// KeepGoing returns an environment in which make builds what it can after an error, so that one run names more files.
func KeepGoing(env []string) []string {
	flags := "k"
	if own := stage.Lookup(env, "MAKEFLAGS"); own != "" {
		flags = own + " -k"
	}
	return append(slices.Clone(env), "MAKEFLAGS="+flags)
}
