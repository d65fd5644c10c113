package acceptance

import (
	"bytes"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/acceptance/suppression"
)

var (
	// installs are scripts that run where the package, or what depends on it, is installed.
	installs = re(`"((?:pre|post)?(?:install|prepare)|prepublish)"\s*:`)
	golden   = re(`(?:^|/)(?:testdata|__snapshots__|golden|snapshots)/|\.(?:golden|snap|approved\.\w+)$`)
	// lenient lines let failures through, runs are lines that run something.
	lenient = re(`\|\|\s*(?:true|:|exit 0|echo)|(?:continue-on-error|allow_failure):\s*true|^-(?:go|npm|cargo|` +
		`pytest|make|mvn)\b|\bexit 0\b|` +
		`\bif:\s*(?:false|\$\{\{\s*false)|--passWithNoTests|--no-verify|--exit-zero|\bset \+e\b|\s-(?:short|run|skip)\b|` +
		`disable-all|\bxfail\b`)
	runs      = re(`(?i)\b(?:run|script|command|test|vet|lint|check|cover|audit)\b`)
	threshold = re(`(?i)cover|threshold|fail[_-]under|-min\b|minimum|(?:lines|branches|functions|statements)["']?\s*:`)
	number    = re(`\d+(?:\.\d+)?`)
	removal   = re(`(?i)\b(?:remov|delet|drop|retir)\w*`)
)

const goldenFile = "a file that a test compares with"

// gates asks about changes of what the gates, CI and linters run, of what acts on the machines of those who merge, and of what
// tests compare with, where neither a person nor the master wrote the file's path into the task's files. It asks about a
// named file where it becomes more lenient, and where a task that mends a gate changes what that gate checks and its brief does
// not name it.
func gates(p *Patch) (found []Finding) {
	for _, f := range p.files {
		change := "changes"
		switch {
		case f.gate == "" || !f.touched() || f.size > 0 && p.renamed(f):
			continue
		case f.Before == nil:
			change = "is new"
		case f.After == nil:
			change = "is gone"
		}
		switch {
		case !p.named(f.Path) && !p.namesModules(f):
			found = append(found, at(f.Path, f.first, "%s %s, and the task does not name the file", f.gate, change))
		case f.gate == goldenFile || f.gate == spec.GuardsMachines:
		case len(p.Task.Mends) > 0 && !strings.Contains(p.Task.Brief, path.Base(f.Path)):
			found = append(found, at(f.Path, f.first, "%s %s, the task is to mend gate %s, and its brief does not name the file",
				f.gate, change, text.Some(p.Task.Mends, maxNamed)))
		default:
			found = append(found, p.lenient(f)...)
		}
	}
	return found
}

// namesModules reports whether a file is that of a Go module, and the brief of its shard names such files: a template has no
// other place for that.
func (p *Patch) namesModules(f *file) bool {
	const file = "go.mod"
	return p.Task.Rule != nil && path.Base(f.Path) == file && f.Before != nil && strings.Contains(p.Task.Brief, file)
}

// touched reports whether the content of a file differs at all.
func (f *file) touched() bool {
	return (f.Before == nil) != (f.After == nil) || !bytes.Equal(f.Before, f.After)
}

// gateOf returns the meaning of a file for gates; "" for nothing.
func (p *Patch) gateOf(f *file, runners []*ran) string {
	if what := spec.Guard(f.Path); what != "" {
		return what
	}
	for _, r := range runners {
		if r.runs(f) {
			return "what " + r.of + " runs"
		}
	}
	if what := p.setting(f); what != "" {
		return what
	}
	if path.Base(f.Path) == "build.rs" {
		return "a script that cargo runs before the build"
	}
	if f.Before != nil && f.After != nil && golden.MatchString(f.Path) {
		return goldenFile
	}
	return ""
}

// lenient returns what lets more through in a file of gates that the task names.
func (p *Patch) lenient(f *file) (found []Finding) {
	for _, l := range f.gained {
		script := installs.FindStringSubmatch(l.text)
		switch {
		case script != nil && path.Base(f.Path) == "package.json" && !strings.Contains(p.Task.Brief, script[1]):
			found = append(found, at(f.Path, l.number, "%s runs on every machine that installs the package, and the brief "+
				"does not name it", script[1]))
		case lenient.MatchString(l.text):
			found = append(found, at(f.Path, l.number, "the command lets failures through or runs less"))
		case threshold.MatchString(l.text) && p.renumbered(f, l.text):
			found = append(found, at(f.Path, l.number, "a threshold changes"))
		}
	}
	running := func(lines []line) (n int) {
		for _, l := range lines {
			n += len(runs.FindAllString(l.text, 1))
		}
		return n
	}
	if running(f.gained) < running(f.lost) && !removal.MatchString(p.Task.Brief) {
		found = append(found, at(f.Path, 0, "the file runs less than before"))
	}
	return found
}

// renumbered reports whether a line is a removed one with other numbers, which the brief does not ask for.
func (p *Patch) renumbered(f *file, now string) bool {
	return slices.ContainsFunc(f.lost, func(was line) bool {
		return number.ReplaceAllString(was.text, "") == number.ReplaceAllString(now, "") && !p.explained(was.text, now)
	})
}

var (
	generatedMark = re(`(?m)^// Code generated .*DO NOT EDIT\.?\s*$|@generated\b|(?i:^(?://|#|/\*|` +
		`<!--).{0,80}\b(?:auto-?)?generated\b.{0,80}\bdo not (?:edit|modify))`)
	generatedName = re(`\.pb(?:\.gw)?\.go$|_pb2(?:_grpc)?\.py$|\.min\.(?:js|css)$|(?:^|/)zz_generated|\.g\.dart$|` +
		`_generated\.\w+$`)
	typeFlag   = re(`-type[= ](\w+)`)
	generating = re(`(?i)\b(?:re)?gen(?:erat\w*)?\b|protoc|\bbuf\b|mockgen|stringer|sqlc|codegen`)
)

// header is where a file reports that it is generated.
const header = 2 << 10

// generated asks about generated files that change without what they are made of.
func generated(p *Patch) (found []Finding) {
	if generating.MatchString(p.Task.Brief + " " + strings.Join(slices.Concat(p.Task.Command, p.Role.Command), " ")) {
		return nil
	}
	for _, f := range p.files {
		if f.Before == nil || f.After == nil || p.outright(f.Path) || !f.changed() {
			continue
		}
		head := f.Before[:min(len(f.Before), header)]
		marked := bytes.Contains(bytes.ToLower(head), []byte("generated")) && generatedMark.Match(head)
		if (marked || generatedName.MatchString(f.Path)) && !p.hasSource(f.Path, head) && !p.renamed(f) {
			found = append(found, at(f.Path, f.first, "a generated file changes without its source"))
		}
	}
	return found
}

// hasSource reports whether the patch changes a file that the head of a generated file names, or the type that it is made of.
func (p *Patch) hasSource(name string, head []byte) bool {
	flag := typeFlag.FindSubmatch(head)
	return slices.ContainsFunc(p.Changes, func(c Change) bool {
		return c.Path != name && (bytes.Contains(head, []byte(path.Base(c.Path))) ||
			flag != nil && path.Dir(c.Path) == path.Dir(name) && bytes.Contains(c.After, flag[1]))
	})
}

// silenced asks about what silences a checker: some of it in each run, all where the task mends a gate, but for as many times as
// a person allowed. It asks about errors that are dropped.
func silenced(p *Patch) (found []Finding) {
	var changes []suppression.File
	for _, f := range p.files {
		if !f.data && f.Unread == "" {
			changes = append(changes, suppression.File{Path: f.Path, Before: f.Before, After: f.After})
		}
		for _, l := range f.added {
			if path.Ext(f.Path) == ".go" && f.dropped(l.text) {
				found = append(found, at(f.Path, l.number, "an error that was handled is dropped"))
			}
		}
	}
	var kinds []string
	var marks []Finding
	for _, g := range suppression.Grown(changes) {
		if !g.Always && len(p.Task.Mends) == 0 {
			continue
		}
		p.silences += g.Count
		kinds = append(kinds, fmt.Sprintf("%d × %s", g.Count, g.Kind))
		for _, m := range g.Marks {
			mark := at(m.Path, m.Line, "%s: %s", g.Kind, text.Quote(text.Short(m.Text, maxMark)))
			mark.Kind = g.Kind
			marks = append(marks, mark)
		}
	}
	if p.silences <= p.MaySilence {
		return found
	}
	first := at("", 0, "it silences checkers in %s (%s), %d more allowed: accept it where each is right, else reject it and say "+
		"how to fix instead", text.Count(p.silences, "new place"), strings.Join(kinds, ", "), p.MaySilence)
	first.Kind = "checkers are silenced"
	return slices.Concat([]Finding{first}, marks, found)
}

// maxMark bounds a line that silences a checker in a message, in bytes.
const maxMark = 100

var discard = re(`_ :?= ([^(]*\()`)

// dropped reports whether a line drops the result of a call whose error was handled before.
func (f *file) dropped(now string) bool {
	if !strings.Contains(now, "_ ") {
		return false
	}
	m := discard.FindStringSubmatch(now)
	return m != nil && slices.ContainsFunc(f.removed, func(l line) bool {
		return strings.Contains(l.text, "err") && strings.Contains(l.text, m[1])
	})
}
