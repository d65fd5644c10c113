package detect

import (
	"cmp"
	"slices"
	"strings"
	"unicode"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
)

// runner is a test runner for JavaScript, and how it is told to name its tests.
type runner struct {
	words      []string // it begins with these
	env, flags []string
	format     string
	// not are words of a command that this way does not go together with.
	not []string
}

var runners = []runner{
	{
		// Without --exit mocha waits for what a failed test has left open.
		words: []string{"mocha"}, flags: []string{"--reporter", "tap", "--exit"}, format: gate.FormatTAP,
		not: []string{"--watch", "-w", "--parallel"},
	},
	{
		words: []string{"vitest"}, flags: []string{"--reporter=junit"}, format: gate.FormatJUnit,
		not: []string{"--watch", "-w", "watch", "bench"},
	},
	{
		words: []string{"node", "--test"}, env: []string{"NODE_OPTIONS=--test-reporter=tap"}, format: gate.FormatTAP,
		not: []string{"--test-reporter"},
	},
	{
		words: []string{"jest"}, flags: []string{"--json"}, format: gate.FormatJSON,
		not: []string{"--watch", "--watchAll", "--json", "--outputFile"},
	},
	{words: []string{"ava"}, flags: []string{"--tap"}, format: gate.FormatTAP, not: []string{"--watch", "-w"}},
	{words: []string{"tape"}, format: gate.FormatTAP},
}

var (
	// syntax matches syntax beyond a chain of commands.
	syntax = lazyregexp.New("[|;<>`\n]|\\$\\(|(?:^|[^&])&(?:[^&]|$)")
	// setting is an assignment in front of a command.
	setting = lazyregexp.New(`^[A-Za-z_][A-Za-z0-9_]*=\S*$`)
	alias   = lazyregexp.New(`^(?:npm|pnpm|yarn) run (\S+)$`)
)

// aliasOf is the script that a script only runs; "" for none.
func aliasOf(script string, scripts map[string]string) string {
	found := alias.FindStringSubmatch(script)
	if found == nil || strings.TrimSpace(scripts[found[1]]) == "" || strings.HasPrefix(found[1], "-") {
		return ""
	}
	return found[1]
}

// reporter returns the variables and the flags with which the last command of a script names its tests, and the format that it
// then speaks; "" for a script that is not understood. What is added to a script ends up at its last command.
func reporter(script string) (env, flags []string, format string) {
	if syntax.MatchString(script) || strings.Contains(script, "||") {
		return nil, nil, ""
	}
	parts := strings.Split(script, "&&")
	words := strings.Fields(parts[len(parts)-1])
	before := []string{"cross-env", "npx", "nyc", "c8", "env"}
	for len(words) > 0 && (setting.MatchString(words[0]) || slices.Contains(before, words[0])) {
		words = words[1:]
	}
	if slices.Contains(words, "--") {
		return nil, nil, ""
	}
	for _, r := range runners {
		if !r.runs(words) || slices.ContainsFunc(r.not, func(w string) bool { return has(words, w) }) {
			continue
		}
		return r.env, r.flags, r.format
	}
	return nil, nil, ""
}

// runs reports whether a command begins with the runner; flags of node may stand before --test.
func (r runner) runs(words []string) bool {
	if len(words) == 0 || words[0] != r.words[0] {
		return false
	}
	return len(r.words) == 1 || slices.Contains(words[1:], r.words[1])
}

func has(words []string, flag string) bool {
	return slices.ContainsFunc(words, func(w string) bool { return w == flag || strings.HasPrefix(w, flag+"=") })
}

// checks are programs that read the tree and change nothing.
var checks = []string{
	"xo", "eslint", "standard", "tsc --noEmit", "tsd", "prettier --check", "prettier -c", "biome", "oxlint", "type-coverage",
}

// changing matches flags with which a check changes what it reads.
var changing = lazyregexp.New(`(?:^| )--(?:fix|write|apply)\b`)

// checked is the program of a script that only checks; "" for another script.
func checked(script string) string {
	is := slices.IndexFunc(checks, func(check string) bool { return strings.HasPrefix(script+" ", check+" ") })
	if is < 0 || syntax.MatchString(script) || changing.MatchString(script) {
		return ""
	}
	name, _, _ := strings.Cut(checks[is], " ")
	return name
}

// check is the program of a command that only checks, by itself or as a script; "" for another command.
func (m *manifest) check(command string) string {
	return checked(cmp.Or(m.Scripts[aliasOf(command, m.Scripts)], command))
}

// parts are the commands of a package's test script, also those that npm-run-all and run-s run one after the other.
func (m *manifest) parts() []string {
	script, rows := m.test(), []string{"npm-run-all", "run-s"}
	if words := strings.Fields(script); len(words) > 1 && slices.Contains(rows, words[0]) {
		script = "npm run " + strings.Join(words[1:], " && npm run ")
	}
	parts := strings.Split(script, "&&")
	for i := range parts {
		parts[i] = strings.TrimSpace(parts[i])
	}
	return parts
}

// chained returns the commands of a script that runs only checks before a runner of tests, each a gate by itself: a check that is
// red, as a linter becomes that no lock file holds, then leaves the others to prove changes.
func chained(m *manifest, with manager) (gates []spec.Gate) {
	parts := m.parts()
	tests, ok := m.last(with)
	if !ok || tests.Format == "" {
		return nil
	}
	if pre := m.Scripts["pretest"]; m.check(pre) != "" {
		parts = append([]string{pre}, parts...)
	}
	for _, part := range parts[:len(parts)-1] {
		name := m.check(part)
		if name == "" {
			return nil
		}
		if !m.installs(name) {
			continue // it is a red gate for ever: nothing installs it
		}
		gates = append(gates, spec.Gate{
			Name: name, Command: append(with.exec("."), "sh", "-c", part), Format: gate.FormatFindings,
		})
	}
	return append(gates, tests)
}

// packages are those that a check comes with, where they have another name.
var packages = map[string]string{"tsc": "typescript", "biome": "@biomejs/biome"}

// installs reports whether a package installs the program of a check.
func (m *manifest) installs(check string) bool {
	name := cmp.Or(packages[check], check)
	return m.Dev[name]+m.Deps[name]+m.Opt[name] != ""
}

// before is the beginning of a line that does what the package does before its tests; "" for nothing, or for a check.
func (m *manifest) before(dir string, with manager) string {
	if pre := m.Scripts["pretest"]; pre == "" || m.check(pre) != "" {
		return ""
	}
	return text.CommandLine(with.run(dir, "pretest")) + " && "
}

// last is the last of several commands of the test script as a gate.
func (m *manifest) last(with manager) (spec.Gate, bool) {
	parts := m.parts()
	if len(parts) == 1 {
		return spec.Gate{}, false
	}
	return m.piece(parts[len(parts)-1], with)
}

// pieces are several commands of the test script as gates: the last one, and each other one that is a script by itself.
func (m *manifest) pieces(with manager) (gates []spec.Gate) {
	parts := m.parts()
	for i, part := range parts {
		named := aliasOf(part, m.Scripts)
		if g, ok := m.piece(part, with); ok && len(parts) > 1 && (i == len(parts)-1 || named != "") {
			if g.Name = with.name + "-test"; i < len(parts)-1 {
				g.Name += "-" + strings.Map(plain, named)
			}
			gates = append(gates, g)
		}
	}
	return gates
}

// plain is a letter of the name of a script as one of the name of a gate.
func plain(r rune) rune {
	if r < 0x80 && (unicode.IsLetter(r) || unicode.IsDigit(r)) {
		return r
	}
	return '-'
}

// piece is a command of the test script as a gate.
func (m *manifest) piece(last string, with manager) (spec.Gate, bool) {
	if syntax.MatchString(last) || last == "" || with.name != "npm" && with.name != "pnpm" {
		return spec.Gate{}, false
	}
	named := aliasOf(last, m.Scripts)
	env, flags, format := reporter(cmp.Or(m.Scripts[named], last))
	if named != "" && len(flags) > 0 && with.name == "npm" {
		flags = append([]string{"--"}, flags...)
	}
	line := m.before(".", with) + strings.Join(slices.Concat(env, []string{last}, flags), " ")
	return spec.Gate{Name: "test", Command: append(with.exec("."), "sh", "-c", line), Format: format}, true
}
