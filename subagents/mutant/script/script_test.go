package script

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/subagents/mutant"
)

// Each source has its mutants as "kind: old -> new".
func TestScriptMutants(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, source string
		want         []string
	}{
		"a boundary":     {"a.js", "if (a < 9) { b }", []string{"boundary: if (a < 9) { b } -> if (a <= 9) { b }", "constant: if (a < 9) { b } -> if (a < 10) { b }"}},
		"a condition":    {"a.js", "if (a()) b = c", []string{"condition: if (a()) b = c -> if (!(a())) b = c"}},
		"one of two":     {"a.js", "x = a && !b", []string{"condition: x = a && !b -> x = a || !b", "condition: x = a && !b -> x = a && b"}},
		"a value":        {"a.js", "function f() {\n  return a\n}", []string{"returned value: return a -> return undefined"}},
		"an arrow":       {"a.js", "f = x => x.y", []string{"returned value: f = x => x.y -> f = x => undefined"}},
		"a call":         {"a.js", "a()\nb.c(1)", []string{"call: a() -> ", "call: b.c(1) -> ", "constant: b.c(1) -> b.c(2)"}},
		"a call that is": {"a.js", "x = a()\ny\n  .z()", []string{"call: y\n  .z() -> "}},
		"a call before else": {"a.js", "if (a == b) c(); else d()", []string{
			"condition: if (a == b) c(); else d() -> if (a != b) c(); else d()", "call: c() -> ", "call: d() -> ",
		}},
		"one that ends":      {"a.js", "resolve(); done()", nil},
		"a failure":          {"a.js", "function f(e) {\n  throw e\n}\ncb(err)", []string{"error: throw e -> ", "error: cb(err) -> cb(null)"}},
		"elements":           {"a.js", "x = [a, b]; y = { a: a, b: b }", []string{"element: x = [a, b]; y = { a: a, b: b } -> x = [a]; y = { a: a, b: b }", "element: x = [a, b]; y = { a: a, b: b } -> x = [a, b]; y = { a: a }"}},
		"names are none":     {"a.js", "const [a, b] = c; const { d: e, f: g } = c", nil},
		"keys stay":          {"a.js", `x = { "a": y, 1: z.true, w }`, nil},
		"a text":             {"a.js", "x = 'a' + ''", []string{"constant: x = 'a' + '' -> x = '' + ''", "constant: x = 'a' + '' -> x = 'a' + 'x'"}},
		"modules":            {"a.js", "'use strict'\nimport a from 'b'\nconst c = require('d')\nexport * from 'e'", nil},
		"an expression":      {"a.js", "x = a.replace(/\"</g, b) / c", []string{"constant: x = a.replace(/\"</g, b) / c -> x = a.replace(/\"</g, b) * c"}},
		"a template":         {"a.js", "x = `a ${b > c ? `\"${d}` : e} < '`", []string{"boundary: x = `a ${b > c ? `\"${d}` : e} < '` -> x = `a ${b >= c ? `\"${d}` : e} < '`", "constant: x = `a ${b > c ? `\"${d}` : e} < '` -> x = `a ${b > c ? `\"` : e} < '`", "constant: x = `a ${b > c ? `\"${d}` : e} < '` -> x = `a ${b > c ? `\"${d}` : e} <`"}},
		"tests in the file":  {"a.ts", "export const a = 1\nif (import.meta.vitest) {\n  const { it, expect } = import.meta.vitest\n  it('a', () => { expect(a).toBe(1) })\n}", []string{"constant: export const a = 1 -> export const a = 2", "condition: if (import.meta.vitest) { -> if (!(import.meta.vitest)) {"}},
		"another method":     {"a.js", "x = a.some(b).trim()", []string{"call: x = a.some(b).trim() -> x = a.every(b).trim()", "call: x = a.some(b).trim() -> x = a.some(b)"}},
		"a choice":           {"a.ts", "x = a.b(1) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {}", []string{"constant: x = a.b(1) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {} -> x = a.b(2) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {}", "condition: x = a.b(1) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {} -> x = !(a.b(1)) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {}", "condition: x = a.b(1) ? c : d; y = e && f ? g : h; let z: i = j?.k; function l(m?: n) {} -> x = a.b(1) ? c : d; y = e || f ? g : h; let z: i = j?.k; function l(m?: n) {}"}},
		"words":              {"a.js", "x('no such name')\nf`a b`\ny = `a`", []string{"call: x('no such name') -> ", "constant: x('no such name') -> x('no such')", "constant: y = `a` -> y = ``"}},
		"swapped values":     {"a.js", "function f() { return [a, b(c, d)] }", []string{"returned value: function f() { return [a, b(c, d)] } -> function f() { return undefined }", "returned value: function f() { return [a, b(c, d)] } -> function f() { return [b(c, d), a] }", "element: function f() { return [a, b(c, d)] } -> function f() { return [a] }"}},
		"ends of a pattern":  {"a.js", "x = /^a$/i; y = /^/; z = /a\\$/", []string{"condition: x = /^a$/i; y = /^/; z = /a\\$/ -> x = /a$/i; y = /^/; z = /a\\$/", "condition: x = /^a$/i; y = /^/; z = /a\\$/ -> x = /^a/i; y = /^/; z = /a\\$/"}},
		"a default":          {"a.js", "const a = 3\nfunction f({ b = 5 } = {}, c = a) {}", []string{"constant: const a = 3 -> const a = 4", "constant: function f({ b = 5 } = {}, c = a) {} -> function f({ b = 6 } = {}, c = a) {}"}},
		"a loop ends":        {"a.js", "for (let i = a; i < b; i++) {}", []string{"boundary: for (let i = a; i < b; i++) {} -> for (let i = a; i <= b; i++) {}"}},
		"a property":         {"a.js", "a.b[c] = d\ne = f", []string{"constant: a.b[c] = d -> "}},
		"a count":            {"a.js", "n++", []string{"constant: n++ -> n--"}},
		"an element of JSX":  {"a.jsx", "x = <p title=\"don't\" on={() => a(1)}>isn't {b ? <br/> : c} > 1</p>", []string{"returned value: x = <p title=\"don't\" on={() => a(1)}>isn't {b ? <br/> : c} > 1</p> -> x = <p title=\"don't\" on={() => undefined}>isn't {b ? <br/> : c} > 1</p>", "constant: x = <p title=\"don't\" on={() => a(1)}>isn't {b ? <br/> : c} > 1</p> -> x = <p title=\"don't\" on={() => a(2)}>isn't {b ? <br/> : c} > 1</p>"}},
		"types":              {"a.ts", "type A = 'a' | 'b'\ninterface B { c: 1 }\nconst d: Map<'a', 1> = e as { f: 2 }\nlet g = h < i\nfunction k(l?: 'm'): n is 3 {}", []string{"boundary: let g = h < i -> let g = h <= i"}},
		"what is not read":   {"a.js", "x = (1", nil},
		"what nests too far": {"a.js", strings.Repeat("`${", 200), nil},
		"none beside others": {"a.js", "x = a ?? b ?? c", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var told []string
			for _, c := range mutantsOf(c.file, c.source) {
				told = append(told, fmt.Sprintf("%s: %s -> %s", c.Kind, c.Old, c.New))
			}
			require.Equal(t, c.want, told)
		})
	}
}

// A text has one mutant, or marks in each body that has some.
func TestScriptText(t *testing.T) {
	t.Parallel()
	source := "const a = 1\nfunction f(b: number): boolean {\n  'use strict';\n  if (b > a) { return true }\n  return [b].some(x => x.y)\n}\nclass C { m = () => { n() } }\n"
	changes := mutantsOf("a.ts", source)
	funcs := map[string]string{}
	for i := range changes {
		changes[i].Number = i + 1
		funcs[changes[i].Old] = changes[i].Func
	}
	require.Equal(t, map[string]string{
		"const a = 1": "the module", "if (b > a) { return true }": "f", "return [b].some(x => x.y)": "f", "n()": "m",
	}, funcs)
	require.Equal(t, "// @ts-nocheck\nconst a = 2\n", textOf("a.ts", source, changes, 1)[:len("// @ts-nocheck\nconst a = 2\n")])
	marked, _, _ := strings.Cut(textOf("a.ts", source, changes, 0), "\n;function")
	require.Equal(t, "// @ts-nocheck\nconst a = 1\nfunction f(b: number): boolean {\n  'use strict';;divisiReached(\"2 4 5\");\n"+
		"  if (b > a) {;divisiReached(\"3\"); return true }\n  return [b].some(x => (divisiReached(\"6\"), x.y))\n}\n"+
		"class C { m = () => {;divisiReached(\"7\"); n() } }\n\n;divisiReached(\"1\");", marked)
}

// The names of tests have those of their suites.
func TestScriptTests(t *testing.T) {
	t.Parallel()
	tests := testsOf("a.test.ts", `import { it } from 'x'
describe('fee', () => {
  it('should expect 0', () => { if (/a/.test("b")) {} })
  describe("of gold", function () { test.only('is 1', fn) })
})
it.each<[a, b]>([[1, 2]])('adds %i (to $x)', (a) => {})
test.each`+"`a|b`"+`('row', () => {})
test(`+"`of ${a.map((x) => `${x}`)}`"+`, () => {})
tap.test('it\'s', (t) => { t.test('nested', () => {}) })
test(name, () => {})
`)
	var names []string
	for name := range tests {
		names = append(names, name)
	}
	require.ElementsMatch(t, []string{
		"fee > should expect 0", "fee > of gold > is 1", "adds %i (to $x)", "row", "of ${a.map((x) => `${x}`)}", "it's", "it's > nested",
	}, names)
	require.Equal(t, "it('should expect 0', () => { if (/a/.test(\"b\")) {} })\n", tests["fee > should expect 0"])
	require.False(t, asserts.MatchString(tests["fee > should expect 0"]))
	for _, text := range []string{"expect(a).toBe(b)", "assert(a)", "t.deepEqual(a, b)", "a.should.equal(b)", "expectTypeOf(a)"} {
		require.True(t, asserts.MatchString(text), text)
	}
	require.Equal(t, `adds .* \(to .*\)`, namePattern("adds %i (to $x)"))
	require.Equal(t, `of .*!`, namePattern("of ${a.map((x) => `${x}`)}!"))
}

func TestScriptReports(t *testing.T) {
	t.Parallel()
	tests := []mutant.Test{
		{File: "t/a.js", Name: "s > one"}, {File: "t/a.js", Name: "two %i"}, {File: "t/a.js", Name: "three"}, {File: "t/b.js", Name: "three"},
	}
	for name, c := range map[string]struct {
		report string
		want   map[mutant.Test]mutant.Outcome
	}{
		"jest": {
			`{"testResults":[{"name":"/x/t/a.js","assertionResults":[{"ancestorTitles":["s"],"title":"one","status":"failed"},` +
				`{"ancestorTitles":[],"title":"two 1","status":"passed"},{"ancestorTitles":[],"title":"two 2","status":"failed","failureMessages":["Error: expect(received)"]},` +
				`{"ancestorTitles":[],"title":"three","status":"pending"}]}]}`,
			map[mutant.Test]mutant.Outcome{tests[0]: mutant.Errored, tests[1]: mutant.Failed, tests[2]: mutant.Skipped},
		},
		"node":  {"TAP version 13\n# Subtest: s\n    # Subtest: one\n    ok 1 - one\n    1..1\nok 1 - s\nnot ok 2 - two 7\n  ---\n  code: 'ERR_ASSERTION'\n", map[mutant.Test]mutant.Outcome{tests[0]: mutant.Passed, tests[1]: mutant.Failed}},
		"mocha": {"1..2\nok 1 s one\nnot ok 2 three\n", map[mutant.Test]mutant.Outcome{tests[0]: mutant.Passed, tests[2]: mutant.Errored, tests[3]: mutant.Errored}},
		"tape":  {"TAP version 13\n# s > one\nok 1 a\nnot ok 2 b\n  ---\n    operator: equal\n# three\nok 3 is # SKIP\n", map[mutant.Test]mutant.Outcome{tests[0]: mutant.Failed, tests[2]: mutant.Skipped, tests[3]: mutant.Skipped}},
		"brittle": {
			"# three\n    not ok 1 - should be equal\n      ---\n      operator: is\n      ...\nnot ok 1 - three # time = 1.5ms\n",
			map[mutant.Test]mutant.Outcome{tests[2]: mutant.Failed, tests[3]: mutant.Failed},
		},
		"cut":  {`{"testResults":[{"name":"/x/t/a.js"`, map[mutant.Test]mutant.Outcome{}},
		"none": {"not ok 1 - /x/t/a.js\n", map[mutant.Test]mutant.Outcome{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, outcomesOf(readReport([]byte(c.report)), tests))
		})
	}
}

func TestScriptCommand(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ script, gate, want string }{
		"jest":             {"jest --bail --config j.json test", "npm test -- --json", "jest --config j.json --ci --json --outputFile=/t/report --coverage=false --runTestsByPath --testNamePattern=s a a.test.js"},
		"a chain":          {"xo && cross-env A=1 c8 -r x ava test/*.js && tsd", "npm test", "A=1 ava --tap a.test.js"},
		"a script of node": {"node --experimental-vm-modules ./node_modules/jest/bin/jest.js -b", "npm test", "NODE_OPTIONS=--experimental-vm-modules jest --ci --json --outputFile=/t/report --coverage=false --runTestsByPath --testNamePattern=s a a.test.js"},
		"another script":   {"npm run test:unit", "npm test", "vitest --config v.ts --run --reporter=json --outputFile=/t/report --coverage.enabled=false --testNamePattern=s a a.test.js"},
		"a gate":           {"", "node --import tsx --test --test-reporter=tap", "node --import tsx --test --test-reporter=tap --test-reporter-destination=/t/report --test-name-pattern=a a.test.js"},
		"a shell":          {"", "npx --no-install sh -c 'mocha -r ./x --bail \"t/**\" --reporter tap'", "mocha -r ./x --reporter tap --exit --grep=s a a.test.js"},
		"nothing":          {"jest | tee out", "make test", ""},
		"itself":           {"npm test", "npm test", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			manifest := fmt.Sprintf(`{"scripts": {"test": %q, "unit": "vitest run --config v.ts --coverage"}}`, c.script)
			if name == "another script" {
				manifest = `{"scripts": {"test": "npm run test:unit", "test:unit": "vitest run --config v.ts --coverage"}}`
			} else if !strings.Contains(name, "script") {
				manifest = fmt.Sprintf(`{"scripts": {"test": %q}}`, c.script)
			}
			require.NoError(t, os.WriteFile(filepath.Join(dir, "package.json"), []byte(manifest), 0o600))
			l := New([][]string{mutant.Words(c.gate)})
			_, args, err := l.Command(mutant.Place{Dir: dir, SeenDir: dir, Temp: dir, SeenTemp: "/t"}, []mutant.Test{{File: "a.test.js", Name: "s > a"}})
			if c.want == "" {
				require.ErrorIs(t, err, mutant.ErrRefused)
				return
			}
			require.NoError(t, err)
			require.Equal(t, []string{"sh", "-c", `export PATH="$0:$PATH" && exec env "$@"`, dir + "/node_modules/.bin", "CI=1"}, args[:5])
			require.Equal(t, c.want, strings.Join(args[5:], " "))
		})
	}
}

func TestScriptImports(t *testing.T) {
	t.Parallel()
	sources := map[string][]byte{
		"src/index.ts": []byte("export * from './a.js'"), "src/a.ts": []byte("import b from '@/b/c'"), "src/b/c.tsx": []byte(""), "src/d.ts": []byte(""),
	}
	sources["test/x.test.ts"] = []byte("const x = require('../src')")
	for name := range sources {
		sources[name] = append([]byte("//\n"), sources[name]...)
	}
	require.Equal(t, map[string]bool{"src/index.ts": true, "src/a.ts": true, "src/b/c.tsx": true},
		importsOf([]string{"test/x.test.ts"}, sources))
}

func FuzzScript(f *testing.F) {
	f.Add("a.tsx", "const f = <T,>(a: T): b => `${a}${<p>{c}</p>}`; if (a) b(); else [1, 2]")
	f.Add("a.js", "x = y => z ? 1 : /[/]/; test('a', () => {})")
	f.Fuzz(func(t *testing.T, file, source string) {
		changes := mutantsOf(file, source)
		for i := range changes {
			changes[i].Number = i + 1
			require.LessOrEqual(t, changes[i].From, changes[i].To)
		}
		for i := range len(changes) + 1 {
			textOf(file, source, changes, i)
		}
		for name := range testsOf(file, source) {
			namePattern(name)
		}
	})
}
