//go:build ignore

// Figures prints how the tree in a folder is joined: files, imports and documentation of the façade, the packages that import most
// packages of Divisi, and product code in tokens. With a second folder, of the commit to compare with, it prints the difference.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"log"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const (
	facade = "orchestrator"
	listed = 5
	most   = 25
)

// A house is what product code consists of: files of a package and what they import of Divisi by the package's folder, and all tokens.
type house struct {
	files   map[string]int
	imports map[string]map[string]bool
	tokens  int
}

func main() {
	log.SetFlags(0)
	now := measured(os.Args[1])
	fmt.Printf("façade         %d files, imports %d packages of ours, %d lines of go doc\n",
		now.files[facade], len(now.imports[facade]), documented(os.Args[1]))
	dirs := slices.SortedFunc(maps.Keys(now.imports), func(a, b string) int {
		return cmp.Or(len(now.imports[b])-len(now.imports[a]), cmp.Compare(a, b))
	})
	fmt.Printf("most imports   (goal %d)", most)
	for _, dir := range dirs[:listed] {
		fmt.Printf("  %s %d", dir, len(now.imports[dir]))
	}
	fmt.Printf("\nproduct        %d tokens", now.tokens)
	if len(os.Args) > 2 {
		before := measured(os.Args[2]).tokens
		fmt.Printf(", before %d: %+.2f %%", before, 100*float64(now.tokens-before)/float64(before))
	}
	fmt.Println()
}

func measured(root string) house {
	h := house{files: map[string]int{}, imports: map[string]map[string]bool{}}
	check(filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name := entry.Name()
		switch dir, _ := filepath.Rel(root, filepath.Dir(path)); {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (name == "testdata" || name == "testkit" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case !entry.IsDir() && strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			h.add(dir, path)
		}
		return nil
	}))
	return h
}

func (h *house) add(dir, path string) {
	source, err := os.ReadFile(path)
	check(err)
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ImportsOnly|parser.ParseComments)
	check(err)
	if ast.IsGenerated(file) {
		return
	}
	h.files[dir]++
	if h.imports[dir] == nil {
		h.imports[dir] = map[string]bool{}
	}
	for _, spec := range file.Imports {
		if own, ok := strings.CutPrefix(strings.Trim(spec.Path.Value, `"`), "divisi/"); ok {
			h.imports[dir][own] = true
		}
	}
	var s scanner.Scanner
	s.Init(token.NewFileSet().AddFile(path, -1, len(source)), source, nil, 0)
	for _, kind, text := s.Scan(); kind != token.EOF; _, kind, text = s.Scan() {
		if kind != token.SEMICOLON || text == ";" { // not one that the end of a line stands for
			h.tokens++
		}
	}
}

func documented(root string) int {
	doc := exec.Command("go", "doc", "./"+facade)
	doc.Dir, doc.Stderr = root, os.Stderr
	out, err := doc.Output()
	check(err)
	return bytes.Count(out, []byte("\n"))
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
