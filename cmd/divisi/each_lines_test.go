package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// eachLine is a line that a page has a person type, with its continuations.
var eachLine = regexp.MustCompile(`(?m)^divisi each (?:.*\\\n)*.*$`)

// typeEachLines: eachlines REPO types each line of divisi each that README and pages print in a repository, with --yes. Each one must
// land something. Before it, the repository is as it was committed.
func typeEachLines(ts *testscript.TestScript, _ bool, args []string) {
	e, seen := typist{ts: ts, folder: ts.MkAbs(args[0])}, map[string]bool{}
	for _, glob := range []string{"README.md", "docs/*.md"} {
		pages, err := filepath.Glob(filepath.Join("../..", glob))
		ts.Check(err)
		for _, page := range pages {
			data, err := os.ReadFile(page)
			ts.Check(err)
			for _, line := range eachLine.FindAllString(string(data), -1) {
				line, _, _ = strings.Cut(line, "  #")
				if line = strings.TrimSpace(line); seen[line] {
					continue
				}
				seen[line] = true
				e.run("git reset -q --hard base && git clean -qfd", 0)
				e.printed = ""
				e.run(strings.Replace(line, "divisi each", "divisi each --yes", 1), 0)
				if !strings.Contains(e.printed, " landed\n") {
					ts.Fatalf("%s prints a line that lands nothing: %s", page, line)
				}
			}
		}
	}
	if len(seen) < 7 {
		ts.Fatalf("the pages have %d lines of divisi each", len(seen))
	}
}
