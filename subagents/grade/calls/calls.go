// Package calls finds which programs the command of a gate runs, as its words, the Makefile, the package.json and the shell
// scripts of the tree tell. What it reads is data of others: it runs nothing, and what it does not understand is not known.
package calls

import (
	"io"
	"os"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/gate/trace"
)

// The bounds of what is followed.
const (
	maxDepth = 16
	maxCalls = 2000
	maxFile  = 1 << 20
)

// Call is one program that a command runs.
type Call struct {
	// Words are the program, by the last part of its name, and its arguments; Env are the assignments before it. Dir is where it
	// works, relative to the top of the tree.
	Words, Env []string
	Dir        string
	Program
	// Sure reports that the command always runs it, and fails where it fails. Prefix are the words that run the program there,
	// such as npx.
	Sure   bool
	Prefix []string
}

// Calls are the calls of a command.
type Calls struct {
	List []Call
	// Whole reports that everything was followed, to programs that are known.
	Whole bool
	// Scripts are the files of the tree that are run as programs or given to an interpreter, and those that name what make and
	// package managers run.
	Scripts []string
}

// Of follows a command that works at the top of a tree.
func Of(root *os.Root, command []string) Calls {
	f := &follower{root: root, seen: map[string]bool{}}
	f.out.Whole = true
	f.run(scope{dir: ".", sure: true}, command)
	return f.out
}

// Any reports whether a program does one of some things with files of a language; "" is any language.
func (c *Calls) Any(language string, roles ...Role) bool {
	return slices.ContainsFunc(c.List, func(one Call) bool {
		return slices.Contains(roles, one.Role) && (language == "" || slices.Contains(one.Languages, language))
	})
}

// follower collects.
type follower struct {
	root *os.Root
	out  Calls
	// seen are the scripts and targets that were followed.
	seen  map[string]bool
	depth int
}

// scope holds the variables at a command.
type scope struct {
	dir    string
	env    []string
	prefix []string
	// errexit is set for a shell that ends at the first command that fails.
	sure, errexit bool
	// vars are the variables of a Makefile, own the functions of a script.
	vars map[string]string
	own  map[string]bool
}

func (f *follower) lost() { f.out.Whole = false }

func (f *follower) add(s scope, p Program, words []string) {
	if len(f.out.List) == maxCalls {
		f.lost()
		return
	}
	if p.Role == Unknown {
		f.lost()
	}
	words = slices.Clone(words)
	words[0] = baseOf(words[0])
	f.out.List = append(f.out.List, Call{
		Words: words, Env: s.env, Dir: s.dir, Program: p, Sure: s.sure, Prefix: s.prefix,
	})
}

// file returns the path in the tree that a word names; "" for none.
func (f *follower) file(s scope, word string) string {
	word = strings.TrimPrefix(word, "$PWD/")
	p := path.Join(s.dir, word)
	if path.IsAbs(word) || !strings.ContainsAny(word, "./") || p == ".." || strings.HasPrefix(p, "../") {
		return ""
	}
	if info, err := f.root.Lstat(p); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return p
}

// read returns a file of the tree; false for what is none, or too large.
func (f *follower) read(name string) (string, bool) {
	file, err := trace.Open(f.root, name)
	if err != nil || file == nil {
		return "", false
	}
	defer file.Close() // only read from
	data, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	return string(data), err == nil && len(data) <= maxFile
}

// once reports whether something is to be followed: not again, and not too deep.
func (f *follower) once(what string) bool {
	if f.depth >= maxDepth {
		f.lost()
		return false
	}
	known := f.seen[what]
	f.seen[what] = true
	return !known
}

// baseOf is a program's name without its directory and ending.
func baseOf(word string) string {
	name := path.Base(word)
	for _, end := range []string{".cmd", ".exe", ".mjs", ".cjs", ".js"} {
		name = strings.TrimSuffix(name, end)
	}
	return name
}

// isVar reports whether a word depends on a variable.
func isVar(word string) bool { return strings.ContainsAny(word, "$`") }

// affected is in the command of a gate that is narrowed to nothing known.
const affected = spec.ArgAffected
