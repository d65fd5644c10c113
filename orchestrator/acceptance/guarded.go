package acceptance

import (
	"bytes"
	"path"
	"slices"
	"strconv"
	"strings"
)

var (
	guarded = re(`^\.(?:github|gitlab|circleci|buildkite|divisi)/|(?:^|/)(?:\.gitlab-ci\.yml|\.travis\.yml|` +
		`azure-pipelines\.ya?ml|Jenkinsfile|` +
		`\.pre-commit-config\.yaml|(?:GNU)?[Mm]akefile|[Jj]ustfile|Taskfile\.ya?ml|codecov\.yml|\.codecov\.yml|\.coveragerc|` +
		`\.golangci\.\w+|\.eslintrc.*|eslint\.config\.\w+|biome\.jsonc?|\.stylelintrc.*|\.?ruff\.toml|\.flake8|\.pylintrc|` +
		`\.?mypy\.ini|` +
		`\.?clippy\.toml|\.rubocop\.yml|\.clang-tidy|pytest\.ini|tox\.ini|noxfile\.py|sonar-project\.properties|` +
		`(?:jest|vitest|playwright|cypress|karma)\.config\.\w+)$`)
	// mixed are files that have gates in some of their lines.
	mixed    = re(`(?:^|/)(?:package\.json|pyproject\.toml|setup\.cfg|Cargo\.toml|build\.gradle(?:\.kts)?|pom\.xml|deno\.json)$`)
	gateLine = re(`"(?:pre|post)?(?:test|lint|check|build|coverage|typecheck|verify)[\w:-]*"\s*:|(?i:fail[_-]under|` +
		`threshold|addopts|jacoco|skipTests|filterwarnings)`)
	golden = re(`(?:^|/)(?:testdata|__snapshots__|golden|snapshots)/|\.(?:golden|snap|approved\.\w+)$`)
	// lenient lines let failures through, runs are lines that run something.
	lenient = re(`\|\|\s*(?:true|:|exit 0|echo)|(?:continue-on-error|allow_failure):\s*true|^-\s*(?:go|npm|cargo|` +
		`pytest|make|mvn)\b|\bexit 0\b|` +
		`\bif:\s*(?:false|\$\{\{\s*false)|--passWithNoTests|--no-verify|--exit-zero|\bset \+e\b|\s-(?:short|run|skip)\b|` +
		`disable-all|\bxfail\b`)
	runs      = re(`(?i)\b(?:run|script|command|test|vet|lint|check|cover|audit)\b`)
	threshold = re(`(?i)cover|threshold|fail[_-]under|-min\b|minimum|(?:lines|branches|functions|statements)["']?\s*:`)
	number    = re(`\d+(?:\.\d+)?`)
	removal   = re(`(?i)\b(?:remov|delet|drop|retir)\w*`)
)

// gates asks about changes of what the gates, CI and linters run, and of what tests compare with, where the task does not name
// the file itself. It asks about a named file where it becomes more lenient.
func gates(p *Patch) (found []Finding) {
	for i, c := range p.Changes {
		e, what := p.edits[i], p.gateOf(c)
		switch {
		case what == "" || len(e.added)+len(e.removed) == 0 || p.renamed(i):
		case !p.outright(c.Path):
			text := what + " changes, and the task does not name the file"
			found = append(found, Finding{Path: c.Path, Line: firstLine(e), Text: text})
		case what != goldenFile:
			found = append(found, p.lenient(i)...)
		}
	}
	return found
}

const goldenFile = "what a test compares with"

// gateOf is what a file is for gates; "" for nothing.
func (p *Patch) gateOf(c Change) string {
	e := p.edits[slices.IndexFunc(p.Changes, func(o Change) bool { return o.Path == c.Path })]
	for _, g := range p.Gates {
		if slices.ContainsFunc(g.Command, func(arg string) bool { return path.Clean(arg) == c.Path }) {
			return "what the gate " + g.Name + " runs"
		}
	}
	matches := func(l line) bool { return gateLine.MatchString(l.text) }
	switch {
	case guarded.MatchString(c.Path):
		return "a file of gates, CI or linters"
	case mixed.MatchString(c.Path) && (slices.ContainsFunc(e.added, matches) || slices.ContainsFunc(e.removed, matches)):
		return "a command or threshold of the project"
	case c.Before != nil && c.After != nil && golden.MatchString(c.Path):
		return goldenFile
	}
	return ""
}

func firstLine(e edit) int {
	if len(e.added) == 0 {
		return 0
	}
	return e.added[0].number
}

// lenient returns what lets more through in a file of gates that the task names.
func (p *Patch) lenient(i int) (found []Finding) {
	e, name := p.edits[i], p.Changes[i].Path
	ran := 0
	for _, l := range e.added {
		if runs.MatchString(l.text) {
			ran++
		}
		if lenient.MatchString(l.text) {
			found = append(found, Finding{Path: name, Line: l.number, Text: "the command lets failures through or runs less"})
		}
		if threshold.MatchString(l.text) && p.lower(e, l) {
			found = append(found, Finding{Path: name, Line: l.number, Text: "a threshold falls"})
		}
	}
	for _, l := range e.removed {
		if runs.MatchString(l.text) {
			ran--
		}
	}
	if ran < 0 && !removal.MatchString(p.Task.Brief) {
		found = append(found, Finding{Path: name, Text: "the file runs less than before"})
	}
	return found
}

// lower reports whether a line is a removed one with a smaller number, which the brief does not ask for.
func (p *Patch) lower(e edit, now line) bool {
	for _, was := range e.removed {
		a, b := number.FindAllString(was.text, -1), number.FindAllString(now.text, -1)
		if len(a) != len(b) || number.ReplaceAllString(was.text, "") != number.ReplaceAllString(now.text, "") {
			continue
		}
		for i := range a {
			x, errX := strconv.ParseFloat(a[i], 64)
			y, errY := strconv.ParseFloat(b[i], 64)
			if errX == nil && errY == nil && y < x && !p.explained(a[i], b[i]) {
				return true
			}
		}
	}
	return false
}

var (
	generatedMark = re(`(?m)^// Code generated .*DO NOT EDIT\.?\s*$|@generated\b|(?i:^(?://|#|/\*|` +
		`<!--).{0,80}\b(?:auto-?)?generated\b.{0,80}\bdo not (?:edit|modify))`)
	generatedName = re(`\.pb(?:\.gw)?\.go$|_pb2(?:_grpc)?\.py$|\.min\.(?:js|css)$|(?:^|/)zz_generated|\.g\.dart$|` +
		`_generated\.\w+$`)
	typeFlag   = re(`-type[= ](\w+)`)
	generating = re(`(?i)\b(?:re)?gen(?:erat\w*)?\b|protoc|\bbuf\b|mockgen|stringer|sqlc|codegen`)
)

// header is where a file says that it is generated.
const header = 2 << 10

// generated asks about generated files that change without what they are made of.
func generated(p *Patch) (found []Finding) {
	if generating.MatchString(p.Task.Brief + " " + strings.Join(slices.Concat(p.Task.Command, p.Role.Command), " ")) {
		return nil
	}
	for i, c := range p.Changes {
		if c.Before == nil || c.After == nil || p.outright(c.Path) || len(p.edits[i].added)+len(p.edits[i].removed) == 0 {
			continue
		}
		head := c.Before[:min(len(c.Before), header)]
		marked := bytes.Contains(bytes.ToLower(head), []byte("generated")) && generatedMark.Match(head)
		if (marked || generatedName.MatchString(c.Path)) && !p.hasSource(c.Path, head) && !p.renamed(i) {
			text := "a generated file changes without its source"
			found = append(found, Finding{Path: c.Path, Line: firstLine(p.edits[i]), Text: text})
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

var silencers = patterns{[]string{"//", "#", "@", "disable", "ignore", "NOSONAR", "cover"}, []pattern{
	{re(`//\s*nolint|#\s*(?:noqa|type:\s*ignore|pylint:\s*disable|nosec)|eslint-disable|@ts-(?:ignore|nocheck|` +
		`expect-error)|biome-ignore|` +
		`@SuppressWarnings|#!?\[allow\(|//\s*#nosec|NOSONAR|rubocop:disable|istanbul ignore|pragma:\s*no cover|` +
		`c8 ignore`), Ask, "a warning is silenced"},
}}

var swallowed = re(`(?m)^\s*except\b[^\n]*:\s*(?:#[^\n]*)?\n?\s*pass\b|\bcatch\s*(?:\([^)]*\))?\s*\{\s*\}`)

// silenced asks about warnings that are switched off and errors that are dropped.
func silenced(p *Patch) []Finding {
	found := p.match(&silencers, func(name string) bool { return !prose.MatchString(name) && !fixture.MatchString(name) })
	for i, c := range p.Changes {
		for _, l := range p.edits[i].added {
			switch {
			case path.Ext(c.Path) == ".go" && dropped(l.text, p.edits[i].removed):
				found = append(found, Finding{Path: c.Path, Line: l.number, Text: "an error that was handled is dropped"})
			case strings.HasPrefix(l.text, "except") || l.text == "pass" || strings.Contains(l.text, "catch"):
				if len(swallowed.FindAll(c.After, -1)) > len(swallowed.FindAll(c.Before, -1)) {
					found = append(found, Finding{Path: c.Path, Line: l.number, Text: "an error is swallowed"})
				}
			}
		}
	}
	return found
}

// dropped reports whether a line drops the result of a call whose error was handled before.
func dropped(now string, removed []line) bool {
	_, call, ok := strings.Cut(now, "_ = ")
	if !ok {
		_, call, ok = strings.Cut(now, "_ := ")
	}
	if !ok || !strings.Contains(call, "(") {
		return false
	}
	call, _, _ = strings.Cut(call, "(")
	return slices.ContainsFunc(removed, func(l line) bool {
		return strings.Contains(l.text, "err") && strings.Contains(l.text, call+"(")
	})
}
