// Package renamejob makes the job that runtimes are compared by: a Go repository in which N packages use one function, a plan
// that renames the function, and the script of a model that does it. It writes files and starts nothing.
package renamejob

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/geminitest"
)

// First is the time to the first token of each answer and Token the time of each further one, as a fast service has them.
const (
	First = 400 * time.Millisecond
	Token = 10 * time.Millisecond
)

// words come before the calls, at characters a token; with them an answer has about 100 tokens.
const (
	words = "The task names one file and one change, and its text is here. I make the edit now, and hand in when nothing " +
		"else in that file is left to do."
	characters = 4
)

// Files are the repository of n packages.
func Files(n int) map[string]string {
	files := map[string]string{
		"go.mod":           "module example.com/rename\n\ngo 1.24\n",
		"legacy/legacy.go": "// Package legacy keeps records.\npackage legacy\n\n" + function("LoadRecord", `"record " + name`),
	}
	for i := range n {
		pkg := fmt.Sprintf("pkg%03d", i+1)
		files[pkg+"/"+pkg+".go"] = fmt.Sprintf(user, pkg)
		files[pkg+"/"+pkg+"_test.go"] = fmt.Sprintf(userTest, pkg)
	}
	return files
}

const user = `// Package %[1]s shows records.
package %[1]s

import "example.com/rename/legacy"

// Title is a record's title.
func Title(name string) string {
	return "%[1]s: " + legacy.LoadRecord(name)
}
`

const userTest = `package %[1]s

import "testing"

func TestTitle(t *testing.T) {
	if got := Title("a"); got != "%[1]s: record a" {
		t.Fatal(got)
	}
}
`

func function(name, body string) string {
	return fmt.Sprintf("// %[1]s returns the record of a name.\nfunc %[1]s(name string) string { return %[2]s }\n", name, body)
}

// Write writes the repository below dir.
func Write(dir string, n int) error {
	for name, text := range Files(n) {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return fmt.Errorf("make the directory of %s: %w", name, err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// Waves is the plan that expands, migrates and contracts: the new name stands beside the old one while the packages move.
const Waves = `goal: Rename legacy.LoadRecord to ReadRecord
tasks:
  - id: expand
    role: generator
    brief: Add ReadRecord to legacy/legacy.go, and let LoadRecord call it.
    files: [legacy/legacy.go]
  - id: migrate
    role: generator
    brief: Call legacy.ReadRecord in place of legacy.LoadRecord.
    depends_on: [expand]
    shard: {by: file, glob: "pkg*/*.go", match: LoadRecord, max_files: 1}
  - id: contract
    role: generator
    brief: Remove LoadRecord from legacy/legacy.go.
    depends_on: [migrate]
    files: [legacy/legacy.go]
`

// Set is the plan that renames the function with all its callers: the tree builds only with all members.
const Set = `goal: Rename legacy.LoadRecord to ReadRecord
tasks:
  - id: legacy
    role: generator
    brief: Rename LoadRecord to ReadRecord in legacy/legacy.go.
    files: [legacy/legacy.go]
    change_set: rename
  - id: callers
    role: generator
    brief: Call legacy.ReadRecord in place of legacy.LoadRecord.
    shard: {by: file, glob: "pkg*/*.go", match: LoadRecord, max_files: 1}
    change_set: rename
`

// Script is the model of both plans: the file comes with the task, so that one turn edits it and hands in.
func Script() geminitest.Script {
	old, renamed := function("LoadRecord", `"record " + name`), function("ReadRecord", `"record " + name`)
	both := function("LoadRecord", "ReadRecord(name)") + "\n"
	caller := `{{capture "(pkg\\d+/pkg\\d+\\.go)"}}`
	return geminitest.Script{Rules: []geminitest.Rule{
		rule("expand", "legacy/legacy.go", old, both+renamed),
		rule("migrate-*", caller, "legacy.LoadRecord(", "legacy.ReadRecord("),
		rule("contract", "legacy/legacy.go", both, ""),
		rule("legacy", "legacy/legacy.go", old, renamed),
		rule("callers-*", caller, "legacy.LoadRecord(", "legacy.ReadRecord("),
	}}
}

func rule(task, path, from, to string) geminitest.Rule {
	edit := map[string]any{"path": path, "old_text": from, "new_text": to}
	return geminitest.Rule{Task: task, Steps: []geminitest.Answer{{
		Text: words, Chunk: characters, Delay: spec.Duration(First), ChunkDelay: spec.Duration(Token),
		Calls: []geminitest.Call{
			{Name: spec.ToolEditFile, Args: map[string]any{"edits": []any{edit}}},
			{Name: spec.ToolSubmitResult, Args: map[string]any{"summary": "Renamed."}},
		},
	}}}
}
