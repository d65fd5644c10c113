package gate

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"divisi/subagents/errorline"
)

// maxRunning bounds the output that is kept of one test, in bytes, until it is known whether it fails.
const maxRunning = 4 << 10

// goTestParser reads the events of "go test -json", with build output (Go 1.24 and later). Lines that are no events are
// read as text: what the go command itself complains about.
type goTestParser struct {
	text     *textParser
	names    normaliser
	found    *findings
	packages map[string]*goPackage
	// causes has the first error of each build that failed.
	causes map[string]string
	// unimportable are the packages that go cannot import because of their name. It passes over them: they hide no other.
	unimportable map[string]bool
}

type goPackage struct {
	running     map[string]*window
	failedBelow map[string]string // the first failed test below each
	// panicked reports whether a test panicked: those after it did not run.
	failed, panicked bool
	output           window
}

type goEvent struct {
	Action      string `json:"Action"`
	ImportPath  string `json:"ImportPath"`
	Package     string `json:"Package"`
	Test        string `json:"Test"`
	Output      string `json:"Output"`
	FailedBuild string `json:"FailedBuild"`
}

func (p *goTestParser) line(text string) {
	var e goEvent
	if !strings.HasPrefix(text, "{") || json.Unmarshal([]byte(text), &e) != nil || e.Action == "" {
		p.text.line(text)
		return
	}
	switch {
	case e.Action == "build-output":
		if m := errorline.Malformed.FindStringSubmatch(e.Output); m != nil && m[1] == e.ImportPath {
			p.unimportable[m[1]] = true
		}
		p.buildOutput(e)
	case e.Action == "build-fail":
		p.found.build = p.found.build || !p.unimportable[e.ImportPath]
	case e.Package == "":
	case e.Test != "":
		p.testEvent(p.pkg(e.Package), e)
	default:
		p.packageEvent(p.pkg(e.Package), e)
	}
}

func (p *goTestParser) pkg(path string) *goPackage {
	known, ok := p.packages[path]
	if !ok {
		p.found.ran.Seen(path)
		known = &goPackage{running: map[string]*window{}, failedBelow: map[string]string{}, output: window{limit: maxRunning}}
		p.packages[path] = known
	}
	return known
}

// buildOutput makes a signature of each error line; headings and continuation lines are only shown.
func (p *goTestParser) buildOutput(e goEvent) {
	p.found.show(e.Output)
	line := strings.TrimRight(e.Output, "\n")
	if strings.HasPrefix(line, "#") || strings.HasPrefix(line, "\t") || strings.HasSuffix(line, "too many errors") {
		return
	}
	if signature := p.names.line(strings.TrimPrefix(line, "vet: ")); signature != "" {
		signature = "build: " + strings.TrimPrefix(signature, "./")
		p.found.add(signature, line)
		importPath, _, _ := strings.Cut(e.ImportPath, " [")
		p.found.own(signature, importPath)
		p.causes[e.ImportPath] = cmp.Or(p.causes[e.ImportPath], signature)
	}
}

func (p *goTestParser) testEvent(pkg *goPackage, e goEvent) {
	switch e.Action {
	case "run":
		pkg.running[e.Test] = &window{limit: maxRunning}
	case "output":
		if kept, ok := pkg.running[e.Test]; ok && !strings.HasPrefix(e.Output, "=== ") {
			kept.add(e.Output)
		}
	case "pass":
		p.found.count(true)
		p.found.ran.Pass(e.Package, p.names.test(e.Test))
		delete(pkg.running, e.Test)
	case "skip":
		p.found.skip(e.Package, p.names.test(e.Test), skipReason(pkg.running[e.Test]))
		delete(pkg.running, e.Test)
	case "fail":
		p.found.count(false)
		pkg.panicked = pkg.panicked || pkg.running[e.Test].panicked()
		p.failTest(pkg, e.Package, e.Test)
	}
}

// skipReason is the last thing that a test printed which was skipped.
func skipReason(output *window) string {
	if output == nil {
		return ""
	}
	lines := strings.Split(strings.TrimSpace(output.String()), "\n")
	if i := len(lines) - 1; i >= 0 && strings.HasPrefix(strings.TrimSpace(lines[i]), "--- SKIP: ") {
		lines = lines[:i]
	}
	if len(lines) == 0 {
		return ""
	}
	if m := logged.FindStringSubmatch(lines[len(lines)-1]); m != nil {
		return m[1]
	}
	return lines[len(lines)-1]
}

// failTest names the innermost failing tests only: their parents fail because of them.
func (p *goTestParser) failTest(pkg *goPackage, path, test string) {
	pkg.failed = true
	output := ""
	if kept, ok := pkg.running[test]; ok {
		output = kept.String()
		p.found.show(output)
		delete(pkg.running, test)
	}
	signature := "test: " + path + " " + plain(test)
	for i, r := range test {
		if r == '/' {
			pkg.failedBelow[test[:i]] = cmp.Or(pkg.failedBelow[test[:i]], signature)
		}
	}
	below := pkg.failedBelow[test]
	switch {
	case below == "":
		p.found.add(signature, output)
		p.found.own(signature, path)
	case strings.Contains(output, "panic: "): // of the one below
		p.found.say(below, output)
	}
}

func (p *goTestParser) packageEvent(pkg *goPackage, e goEvent) {
	switch e.Action {
	case "output":
		pkg.output.add(e.Output)
		p.found.cache(e.Output)
	case "pass", "skip":
		delete(p.packages, e.Package)
	case "fail":
		p.failPackage(pkg, e)
		delete(p.packages, e.Package)
	}
}

// failPackage finds out why: a build, a test that never ended (a panic, a timeout, an exit), or something outside its tests.
func (p *goTestParser) failPackage(pkg *goPackage, e goEvent) {
	if e.FailedBuild != "" {
		signature := "build: package " + e.Package
		p.found.add(signature)
		p.found.own(signature, e.Package)
		p.found.follow(signature, p.causes[e.FailedBuild])
		p.found.hide("package: " + e.Package)
		p.found.build = p.found.build || e.FailedBuild != e.Package || !p.unimportable[e.Package]
		return
	}
	if len(pkg.running) > 0 || pkg.panicked || !pkg.failed {
		p.found.hide("package: " + e.Package) // it ended before its last test
	}
	unfinished := slices.Sorted(maps.Keys(pkg.running))
	slices.Reverse(unfinished) // inner tests before the tests that they belong to
	for _, test := range unfinished {
		p.found.count(false)
		p.failTest(pkg, e.Package, test)
	}
	if !pkg.failed {
		p.found.add("package: "+e.Package, pkg.output.String())
		p.found.own("package: "+e.Package, e.Package)
		p.found.show(pkg.output.String())
	}
}

// end also counts the packages that never ended: the go command itself was killed.
func (p *goTestParser) end() *findings {
	for _, path := range slices.Sorted(maps.Keys(p.packages)) {
		pkg := p.packages[path]
		for _, test := range slices.Sorted(maps.Keys(pkg.running)) {
			p.found.show(pkg.running[test].String())
		}
		p.found.hide("package: " + path)
	}
	p.found.adopt(p.text.end())
	return p.found
}
