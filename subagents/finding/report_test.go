package finding

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// documents are one of each format; those without a recorded output in package gate follow the documentation of their tool.
var documents = map[string]struct {
	document string
	want     Report
}{
	"eslint": {
		`[{"filePath":"/t/a.js","messages":[{"ruleId":"eqeqeq","severity":2,"message":"Expected '==='.","line":2,"column":60},` +
			`{"ruleId":"semi","severity":1,"message":"Missing.","line":1,"column":1}],"source":"a"},` +
			`{"filePath":"/t/b.js","messages":[{"ruleId":null,"fatal":true,"severity":2,"message":"Parsing error: x","line":1,"column":3}]}]`,
		Report{[]spec.Finding{
			{Tool: "eslint", Code: "eqeqeq", Message: "Expected '==='.", File: "/t/a.js", Line: 2, Column: 60},
			{Tool: "eslint", Code: "semi", Severity: Warning, Message: "Missing.", File: "/t/a.js", Line: 1, Column: 1},
			{Tool: "eslint", Message: "Parsing error: x", File: "/t/b.js", Line: 1, Column: 3},
		}, []string{"/t/b.js"}, ""},
	},
	"ruff": {
		`[{"cell":null,"code":null,"filename":"a.py","location":{"column":7,"row":2},"message":"SyntaxError: x"}]`,
		Report{[]spec.Finding{{Tool: "ruff", Message: "SyntaxError: x", File: "a.py", Line: 2, Column: 7}}, []string{"a.py"}, ""},
	},
	"mypy": {
		`{"file":"a.py","line":6,"column":25,"message":"Bad","hint":"See x","code":"operator","severity":"error"}`,
		Report{[]spec.Finding{{Tool: "mypy", Code: "operator", Message: "Bad", File: "a.py", Line: 6, Column: 26}}, nil, ""},
	},
	"pyright": {
		`{"version":"1","generalDiagnostics":[{"file":"/t/a.py","severity":"information","message":"x\n  y",` +
			`"range":{"start":{"line":1,"character":11}}},{"file":"/t/b.py","severity":"error","message":"whole"}],"summary":{}}`,
		Report{[]spec.Finding{
			{Tool: "pyright", Severity: Note, Message: "x y", File: "/t/a.py", Line: 2, Column: 12},
			{Tool: "pyright", Message: "whole", File: "/t/b.py"},
		}, nil, ""},
	},
	"golangci": {
		`{"Issues":[{"FromLinter":"typecheck","Text":": # example.com/a\na/a.go:5:54: too many\n\thave x\na/b.go:1:2: undefined: y",` +
			`"Pos":{"Filename":"a/a.go","Line":1}},{"FromLinter":"govet","Text":"bad","Pos":{"Filename":"c.go","Line":3,"Column":1}}],"Report":{}}`,
		Report{[]spec.Finding{
			{Tool: "golangci-lint", Code: "typecheck", Message: "too many", File: "a/a.go", Line: 5, Column: 54},
			{Tool: "golangci-lint", Code: "typecheck", Message: "undefined: y", File: "a/b.go", Line: 1, Column: 2},
			{Tool: "golangci-lint", Code: "govet", Message: "bad", File: "c.go", Line: 3, Column: 1},
		}, []string{spec.HiddenAll}, ""},
	},
	"staticcheck": {
		`{"code":"U1000","severity":"warning","location":{"file":"/t/a.go","line":6,"column":13},"end":{},"message":"unused"}`,
		Report{[]spec.Finding{
			{Tool: "staticcheck", Code: "U1000", Severity: Warning, Message: "unused", File: "/t/a.go", Line: 6, Column: 13},
		}, nil, ""},
	},
	"ast-grep": {
		`{"text":"x","range":{"start":{"line":0,"column":7}},"file":"a.js","ruleId":"no-x","severity":"error","message":""}`,
		Report{[]spec.Finding{{Tool: "ast-grep", Code: "no-x", Message: "no-x", File: "a.js", Line: 1, Column: 8}}, nil, ""},
	},
	"go vet": {
		`{"example.com/b":{"printf":{"error":"failed"}},"example.com/a":{"copylocks":[{"posn":"/t/a.go:6:14","message":"copies"}]}}`,
		Report{[]spec.Finding{{Tool: "go vet", Code: "copylocks", Message: "copies", File: "/t/a.go", Line: 6, Column: 14}}, nil, ""},
	},
	"go build": {`{"ImportPath":"a","Action":"build-output","Output":"a.go:1:2: bad\n"}`, Report{Text: "a.go:1:2: bad\n"}},
	"cargo, in a macro": {
		`{"reason":"compiler-message","message":{"level":"error","message":"no","code":{"code":"E0277"},"spans":[{"file_name":"a.rs",` +
			`"line_start":9,"column_start":1},{"file_name":"/rustc/x/macros.rs","line_start":1,"column_start":2,"is_primary":true,` +
			`"expansion":{"span":{"file_name":"src/a.rs","line_start":4,"column_start":5}}}]}}`,
		Report{[]spec.Finding{{Tool: "cargo", Code: "E0277", Message: "no", File: "src/a.rs", Line: 4, Column: 5}}, nil, ""},
	},
	"cargo, a summary": {
		`{"reason":"compiler-message","message":{"level":"error","message":"aborting due to 1 previous error","code":null,"spans":[]}}`, Report{},
	},
	"cargo, the end": {`{"reason":"build-finished","success":false}`, Report{Hidden: []string{spec.HiddenAll}}},
	"gcc": {
		`[{"kind":"fatal error","message":"a.h: No such file","locations":[{"caret":{"file":"a.c","line":1,"column":10}}],"children":[]},` +
			`{"kind":"note","message":"x","locations":[]},{"kind":"warning","option":"-Wunused","message":"u","locations":[]}]`,
		Report{[]spec.Finding{
			{Tool: "gcc", Message: "a.h: No such file", File: "a.c", Line: 1, Column: 10},
			{Tool: "gcc", Code: "-Wunused", Severity: Warning, Message: "u"},
		}, []string{spec.HiddenAll}, ""},
	},
	"sarif": { // its documentation; clang writes such a one
		`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"clang","rules":[{"id":"7","defaultConfiguration":{"level":"error"}}]}},` +
			`"originalUriBaseIds":{"TOP":{"uri":"file:///t/"}},"artifacts":[{"location":{"uri":"file:///t/my%20c.c"}}],` +
			`"invocations":[{"executionSuccessful":false}],"results":[` +
			`{"ruleId":"7","message":{"text":"use of undeclared identifier"},"locations":[{"physicalLocation":` +
			`{"artifactLocation":{"index":0},"region":{"startLine":4,"startColumn":23}},"logicalLocations":[{"name":"cart"}]}]},` +
			`{"ruleId":"8","level":"error","message":{"text":"is old"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a.c","uriBaseId":"TOP"}}}]},` +
			`{"kind":"pass","message":{"text":"good"}},{"message":{"text":"accepted"},"suppressions":[{"kind":"inSource"}]},` +
			`{"message":{"text":"gone"},"baselineState":"absent"}]}]}`,
		Report{[]spec.Finding{
			{
				Tool: "clang", Code: "7", Message: "use of undeclared identifier", File: "/t/my c.c", Line: 4, Column: 23,
				Symbol: "cart",
			},
			{Tool: "clang", Code: "8", Message: "is old", File: "/t/a.c"},
		}, []string{spec.HiddenAll}, ""},
	},
}

func TestParse(t *testing.T) {
	t.Parallel()
	for name, c := range documents {
		got, ok := Parse([]byte(c.document))
		require.True(t, ok, name)
		require.Equal(t, c.want, got, name)
	}
	for _, other := range []string{
		"", "[]", "{}", `{"a":1}`, `[{"a":1}]`, `[1]`, `{"runs":1,"version":2}`, `{"a":{"b":[]}}`, "{", `{"testResults":[],"version":1}`,
		`[{"filePath":1,"messages":[]}]`,
	} {
		_, ok := Parse([]byte(other))
		require.False(t, ok, other)
	}
}

// feed returns the documents in lines, with the lines that are in none.
func feed(output string) (found []string, other []string, cut bool) {
	var d Document
	take := func() {
		_, document, broken := d.Take()
		found, cut = append(found, string(document)), cut || broken
	}
	for line := range strings.SplitSeq(output, "\n") {
		for line != "" {
			taken, ended, rest := d.Add(line)
			if !taken {
				other = append(other, rest)
				break
			}
			if !ended {
				break
			}
			take()
			line = rest
		}
	}
	if d.Open() {
		take()
	}
	return found, other, cut
}

func TestDocument(t *testing.T) {
	t.Parallel()
	for output, want := range map[string][]string{
		"a\n{\"b\": \"}]\\\"\"}\nc":            {"{\"b\": \"}]\\\"\"}\n", "a", "c"},
		"[\n  {\"a\": [1]},\n  {}\n]{\"b\":1}": {"[\n  {\"a\": [1]},\n  {}\n]\n", "{\"b\":1}\n"},
		"[{\"a\":1},{\"b\":2},{\"c":            {"[{\"a\":1},{\"b\":2}]"},
		"[\n{\"a\":1},\nKilled":                {"[\n{\"a\":1}]", "Killed"},
		"{ code: 'x' }\n[INFO] x\n[1, 2]":      {"{ code: 'x' }", "[INFO] x", "[1, 2]"},
		"{\n  code: 1\n}":                      {"", "  code: 1", "}"},
		"{\"a\":[}":                            {"{\"a\":[}\n"},
	} {
		found, other, _ := feed(output)
		require.Equal(t, want, append(found, other...), output)
	}
	_, _, cut := feed(strings.Repeat("{\"a\":\n", 500))
	require.True(t, cut)
}

// A document that is cut anywhere has the findings that were whole, and no other ones.
func TestCutDocuments(t *testing.T) {
	t.Parallel()
	for name, c := range documents {
		for end := range len(c.document) {
			found, _, cut := feed(c.document[:end])
			for _, document := range found {
				require.True(t, cut, "%s at %d", name, end)
				r, _ := Parse([]byte(document))
				for _, f := range r.Findings {
					if name == "sarif" { // the levels of its rules can be behind the findings
						f.Severity = ""
					}
					require.Contains(t, c.want.Findings, f, "%s at %d", name, end)
				}
			}
		}
	}
}

func FuzzDocument(f *testing.F) {
	for _, c := range documents {
		f.Add(c.document)
	}
	f.Add("[\n{\"a\":1},\nKilled\n{\"b\":\"\\")
	f.Fuzz(func(t *testing.T, output string) {
		found, _, _ := feed(output)
		for _, document := range found {
			r, _ := Parse([]byte(document))
			for _, one := range r.Findings {
				require.LessOrEqual(t, len(one.Message), maxMessage)
				require.GreaterOrEqual(t, one.Line, 0)
				require.GreaterOrEqual(t, one.Column, 0)
			}
		}
	})
}

// 200,000 findings in 50 MB are read up to the bound of one document.
func TestManyFindings(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("reads 50 MB")
	}
	var b strings.Builder
	b.WriteString(`[{"filePath":"/t/a.js","messages":[`)
	for i := range 200_000 {
		fmt.Fprintf(&b, `{"ruleId":"no-undef","severity":2,"message":"'x%d' is not defined.","line":%d,"column":1,"nodeType":%q},`, i, i+1,
			strings.Repeat("x", 150))
	}
	output := b.String()
	require.Greater(t, len(output), 45<<20)
	found, _, cut := feed(output[:MaxDocument])
	require.True(t, cut)
	r, ok := Parse([]byte(found[0]))
	require.True(t, ok)
	require.Greater(t, len(r.Findings), 120_000)
}
