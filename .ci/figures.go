//go:build ignore

// Figures prints how the tree in a folder is joined: files, imports and documentation of the façade, the packages that import most
// packages of Divisi, how much of the state rules take, how often code asks in which mode a run is, large packages, and product code
// in tokens. With a second folder, of the commit to
// compare with, it prints the difference.
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
	large  = 20
)

// rules are the packages of rules, which take parts of the state.
var rules = []string{
	"acceptance", "assign", "decision", "landing", "master", "needs", "phase", "plan", "proof", "recovery", "request", "schedule",
}

// A house is what product code consists of: files of a package and what they import of Divisi by the package's folder, and all tokens.
type house struct {
	files   map[string]int
	imports map[string]map[string]bool
	tokens  int
	asked   int
	// whole counts the lines of rules that name the whole state; methods are, by receiver, those of State that are exported, and all
	// of Conductor.
	whole   int
	methods map[string]int
}

// modes are the fields that tell in which mode a run is, by the folder of the code that has them: conducted here or for another
// machine, worked on by this process or others, new or resumed, reached how, recorded or replayed, tried, a sample, approved unseen.
// A type of how a run is reached counts too, where an assertion asks for it.
var modes = map[string][]string{
	"orchestrator/client": {"AtRest", "Held", "Host", "Served", "Rest"},
	"orchestrator/conduct": {
		"Elsewhere", "Ordered", "RunsCommands", "Members", "Trial", "Sample", "Demo", "Record", "Replay", "AutoApprove",
		"AtRest", "Host", "Served", "Sent", "Rest",
	},
	"orchestrator/conductor": {"Elsewhere", "Ordered", "Members", "Interactive", "Resume"},
	"orchestrator/console":   {"Trial"},
	"orchestrator/depot":     {"Trial"},
	"orchestrator/door":      {"AtRest", "Remote", "Place", "Hosted"},
	"orchestrator/host":      {"Members", "Commands", "AtRest", "Rest"},
	"orchestrator/phase":     {"Trial", "Crew"},
	"orchestrator/run":       {"AutoApprove", "Trial", "Crew"},
	"orchestrator/station":   {"Shared", "Record", "Replay"},
	"orchestrator/view":      {"Trial", "Crew"},
	"orchestrator/view/feed": {"Trial", "Crew"},
}

// chosen are the functions in which a run is made, resumed or opened, and its options are checked: they may ask.
var chosen = map[string][]string{
	"orchestrator/client": {"Attach", "Open", "NewRun"},
	"orchestrator/conduct": {
		"Start", "Submit", "ResumeHosted", "from", "workers", "approver", "check", "checkTape", "newHalf", "begin", "prepare", "carry",
		"instruct",
	},
	"orchestrator/conductor": {"New", "newConductor"},
	"orchestrator/door":      {"NewRuns"},
	"orchestrator/host":      {"begin", "names", "visited"},
	"orchestrator/station":   {"check", "engage", "party"},
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
	fmt.Printf("\nmode flags     asked below %d", now.asked)
	fmt.Printf("\nrun.State      on %d lines of rules (goal 120), %d exported methods of its own (goal 15)", now.whole,
		now.methods["State"])
	fmt.Printf("\nConductor      %d methods (goal 60)", now.methods["Conductor"])
	fmt.Printf("\nabove %d files", large)
	for _, dir := range slices.Sorted(maps.Keys(now.files)) {
		if room, _, _ := strings.Cut(dir, "/"); now.files[dir] > large && (room == facade || room == "cmd") {
			fmt.Printf("  %s %d", dir, now.files[dir])
		}
	}
	fmt.Printf("\nproduct        %d tokens", now.tokens)
	if len(os.Args) > 2 {
		before := measured(os.Args[2]).tokens
		fmt.Printf(", before %d: %+.2f %%", before, 100*float64(now.tokens-before)/float64(before))
	}
	fmt.Println()
}

func measured(root string) house {
	h := house{files: map[string]int{}, imports: map[string]map[string]bool{}, methods: map[string]int{}}
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
	file, err := parser.ParseFile(token.NewFileSet(), path, source, parser.ParseComments)
	check(err)
	if ast.IsGenerated(file) {
		return
	}
	h.asked += asks(dir, file)
	h.addState(dir, source, file)
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

func (h *house) addState(dir string, source []byte, file *ast.File) {
	under, _ := strings.CutPrefix(dir, facade+"/")
	if rule, _, _ := strings.Cut(under, "/"); slices.Contains(rules, rule) {
		for line := range bytes.Lines(source) {
			if bytes.Contains(line, []byte("run.State")) {
				h.whole++
			}
		}
	}
	for _, decl := range file.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv == nil {
			continue
		}
		of, _ := f.Recv.List[0].Type.(*ast.StarExpr)
		if of == nil {
			continue
		}
		name, _ := of.X.(*ast.Ident)
		switch {
		case under == "run" && name != nil && name.Name == "State" && f.Name.IsExported(),
			under == "conductor" && name != nil && name.Name == "Conductor":
			h.methods[name.Name]++
		}
	}
}

// asks counts where code reads a mode to decide by it: not where it hands it on or sets it.
func asks(dir string, file *ast.File) (n int) {
	for _, decl := range file.Decls {
		if f, ok := decl.(*ast.FuncDecl); ok && slices.Contains(chosen[dir], f.Name.Name) {
			continue
		}
		ast.PreorderStack(decl, nil, func(node ast.Node, stack []ast.Node) bool {
			name := ""
			switch x := node.(type) {
			case *ast.SelectorExpr:
				name = x.Sel.Name
			case *ast.TypeAssertExpr:
				if of, ok := x.Type.(*ast.StarExpr); ok {
					node = of.X
				} else {
					node = x.Type
				}
				if of, ok := node.(*ast.SelectorExpr); ok && slices.Contains(modes[dir], of.Sel.Name) {
					n++
				}
				return true
			}
			if name != "" && slices.Contains(modes[dir], name) && decides(stack, node) {
				n++
			}
			return true
		})
	}
	return n
}

// decides reports whether an expression is an operand, a condition or a case.
func decides(stack []ast.Node, node ast.Node) bool {
	switch parent := stack[len(stack)-1].(type) {
	case *ast.BinaryExpr, *ast.CaseClause, *ast.SwitchStmt:
		return true
	case *ast.UnaryExpr:
		return parent.Op == token.NOT
	case *ast.IfStmt:
		return parent.Cond == node
	case *ast.ParenExpr:
		return decides(stack[:len(stack)-1], parent)
	}
	return false
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
