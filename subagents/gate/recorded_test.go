package gate

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"
)

var update = flag.Bool("update", false, "write what is found in the recorded outputs; read the difference before you believe it")

// projects are the files of the projects whose outputs were recorded, by the beginnings of the names of these.
var projects = map[string]map[string]string{
	"go": {
		"go.mod": "module example.com/shop\n", "store/store.go": goSource("store"), "store/store_test.go": goSource("store"),
		"walker/walker.go": goSource("walker", "store"), "walker/walker_test.go": goSource("walker"), "util/util.go": goSource("util"),
		"util/util_test.go": goSource("util"), "api/api.go": goSource("api", "walker"), "api/api_test.go": goSource("api"),
		"index/index.go": goSource("index", "walker"), "index/index_test.go": goSource("index"), "web/web.go": goSource("web", "walker"),
		"web/web_test.go": goSource("web"), "cli/main.go": goSource("main", "web"),
	},
	"cobra": {
		"go.mod": "module github.com/spf13/cobra\n", "cobra.go": goSource("cobra"), "command.go": goSource("cobra"),
		"doc/util.go": "package doc\n\nimport _ \"github.com/spf13/cobra\"\n",
	},
	"tsc":    files("tsconfig.json", "src/round.ts", "src/price.ts", "src/cart.ts"),
	"jest":   files("src/round.js", "src/price.js", "src/cart.js", "src/name.js", "src/price.test.js", "src/cart.test.js", "src/name.test.js"),
	"vitest": files("src/round.js", "src/price.js", "src/cart.js", "src/name.js", "src/price.test.js", "src/cart.test.js", "src/name.test.js"),
	"mocha":  files("lib/round.js", "lib/price.js", "lib/cart.js", "lib/name.js", "test/price.js", "test/cart.js", "test/name.js"),
	"node":   files("lib/round.js", "lib/price.js", "lib/cart.js", "test/price.test.js", "test/cart.test.js", "test/name.test.js"),
	"pytest": files("shop/rounds.py", "shop/price.py", "shop/cart.py", "shop/name.py", "tests/conftest.py", "tests/test_price.py",
		"tests/test_cart.py", "tests/test_name.py"),
	"unittest": files("shop/price.py", "shop/cart.py", "shop/name.py", "tests/test_cart.py", "tests/test_name.py"),
	"click":    files("src/click/formatting.py", "src/click/core.py", "tests/test_formatting.py", "tests/conftest.py", "tests/test_arguments.py"),
	"cargo":    files("a/src/lib.rs", "b/src/lib.rs"),
	"ruff":     files("shop.py", "price.py"), "mypy": files("shop.py", "price.py"), "pyright": files("shop.py", "price.py"),
	"eslint": files("cart.js", "price.js"), "astgrep": files("cart.js", "price.js"), "both": files("cart.js", "price.js", "shop.py", "price.py"),
	"golangci": files("store/store.go", "walker/walker.go"), "staticcheck": files("store/store.go", "walker/walker.go"),
	"vet": files("store/store.go", "walker/walker.go"), "build": files("store/store.go", "walker/walker.go"),
	"gcc": files("cart.c", "price.h"), "clang": files("cart.c", "price.h"), "rust": files("src/lib.rs", "src/price.rs"),
	"mvn": {
		"pom.xml":       "<project><artifactId>shop</artifactId><modules><module>core</module><module>web</module><module>admin</module></modules></project>",
		"core/pom.xml":  "<project><parent><artifactId>shop</artifactId></parent><artifactId>core</artifactId></project>",
		"web/pom.xml":   "<project><artifactId>web</artifactId></project>",
		"admin/pom.xml": "<project><artifactId>admin</artifactId></project>", "core/src/main/java/org/shop/Cart.java": "",
		"core/src/test/java/org/shop/CartTest.java": "", "web/src/main/java/org/web/Page.java": "",
		"web/src/test/java/org/web/PageTest.java": "", "admin/src/main/java/org/admin/Users.java": "",
		"admin/src/test/java/org/admin/UsersTest.java": "",
	},
}

func goSource(name string, imports ...string) string {
	text := "package " + name + "\n"
	for _, i := range imports {
		text += fmt.Sprintf("\nimport _ %q\n", "example.com/shop/"+i)
	}
	return text
}

// commands are those of the recordings, by what their names contain.
var commands = []struct {
	name    string
	command []string
}{
	{"go1-build", []string{"go", "build", "./..."}},
	{"go4-build", []string{"go", "build", "./..."}},
	{"go1-vet", []string{"go", "vet", "./..."}},
	{"go1-type.txt", []string{"go", "test", "./..."}},
	{"golangci", []string{"golangci-lint", "run"}},
	{"go", []string{"go", "test", "-json", "./..."}},
	{"cobra", []string{"go", "test", "-json", "./..."}},
	{"tsc", []string{"npx", "tsc", "-p", "."}},
	{"jest", []string{"npm", "test"}},
	{"vitest", []string{"npm", "test"}},
	{"mocha", []string{"npm", "test"}},
	{"node", []string{"node", "--test"}},
	{"pytest", []string{"python3", "-m", "pytest"}},
	{"click", []string{"python3", "-m", "pytest"}},
	{"unittest", []string{"python3", "-m", "unittest", "-q"}},
	{"cargo", []string{"cargo", "test"}},
	{"rust", []string{"cargo", "check", "--message-format=json"}},
	{"ruff", []string{"ruff", "check", "--output-format", "json"}},
	{"mypy", []string{"mypy", "."}},
	{"pyright", []string{"pyright", "--outputjson"}},
	{"eslint", []string{"npx", "eslint", "."}},
	{"staticcheck", []string{"staticcheck", "-f", "json", "./..."}},
	{"vet", []string{"go", "vet", "-json", "./..."}},
	{"build", []string{"go", "build", "-json", "./..."}},
	{"mvn", []string{"mvn", "-B", "--fail-at-end", "test"}},
}

// recorded returns the receipt of a recorded output.
func recorded(t *testing.T, file string) spec.Receipt {
	t.Helper()
	output, err := os.ReadFile(filepath.Join("testdata", "recorded", file))
	require.NoError(t, err)
	g := spec.Gate{Name: "g", Format: map[string]string{
		".jsonl": FormatGoTest, ".xml": FormatJUnit, ".tap": FormatTAP, ".json": FormatJSON,
	}[filepath.Ext(file)]}
	for _, c := range commands {
		if strings.HasPrefix(file, c.name) {
			g.Command = c.command
			break
		}
	}
	names := newNormaliser("/tmp/fx")
	lines := newLines(newParser(formatOf(g), names, knownTool(g.Command)))
	where := Where{Dir: plant(t, projects[strings.TrimRight(strings.FieldsFunc(file, func(r rune) bool { return r < 'a' })[0], "-")])}
	if filepath.Ext(file) == ".txtar" { // with the reports that it wrote
		archive := txtar.Parse(output)
		output = archive.Comment
		for _, f := range archive.Files {
			name := filepath.Join(where.Dir, f.Name)
			require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o700))
			require.NoError(t, os.WriteFile(name, f.Data, 0o600))
		}
	}
	lines.write(output)
	require.NoError(t, readReport(lines.to, g.Command, &where, time.Time{}))
	found := lines.close()
	r := spec.Receipt{Gate: "g", Command: g.Command}
	out := &sandbox.Output{ExitCode: 1}
	if strings.HasPrefix(file, "mocha7") || strings.HasPrefix(file, "node7") || strings.HasPrefix(file, "node8") ||
		strings.HasPrefix(file, "mvn8") {
		out.ExitCode = 0
	}
	fill(&r, &g, out, found)
	require.NoError(t, hidden(&r, found, &where))
	require.NoError(t, lead(&r, found, names, &where))
	return r
}

// What leads where is told in one line each: a signature, and its cause, else the files that it gives with a line, else its paths.
func TestRecordedOutputs(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/recorded/*[0-9]-*")
	require.NoError(t, err)
	require.NotEmpty(t, list)
	var got strings.Builder
	for _, file := range list {
		r := recorded(t, filepath.Base(file))
		fmt.Fprintf(&got, "== %s: %s, %d of %d passed", filepath.Base(file), r.Kind, r.Passed, r.Tests)
		if why := Incomparable(r); why != "" {
			fmt.Fprintf(&got, "; on a base: %s", why)
		}
		got.WriteString("\n")
		for _, s := range r.Signatures {
			switch {
			case r.Follows[s] != "":
				fmt.Fprintf(&got, "%s\n    follows %s\n", s, r.Follows[s])
			case len(r.Positions[s]) > 0:
				fmt.Fprintf(&got, "%s\n    at %s\n", s, strings.Join(r.Positions[s], ", "))
			default:
				fmt.Fprintf(&got, "%s\n    in %s\n", s, strings.Join(r.Paths[s], ", "))
			}
			require.Subset(t, r.Paths[s], r.Positions[s])
		}
		if len(r.Hidden) > 0 {
			fmt.Fprintf(&got, "hidden: %s\n", strings.Join(r.Hidden, ", "))
		}
	}
	golden := filepath.Join("testdata", "recorded", "found.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// What a person sees first is the mistake: one line for each recorded output, with nothing for what reports no failure.
func TestFirstOfRecordedOutputs(t *testing.T) {
	t.Parallel()
	list, err := filepath.Glob("testdata/recorded/*[0-9]-*")
	require.NoError(t, err)
	var got strings.Builder
	for _, file := range list {
		r := recorded(t, filepath.Base(file))
		fmt.Fprintf(&got, "%s: %s\n", filepath.Base(file), Reason(r, nil))
	}
	golden := filepath.Join("testdata", "recorded", "first.txt")
	if *update {
		require.NoError(t, os.WriteFile(golden, []byte(got.String()), 0o600))
	}
	want, err := os.ReadFile(golden)
	require.NoError(t, err)
	require.Equal(t, string(want), got.String())
}

// causes are the places of the mistakes. Nothing else than these, and tests that name them in their stacks, is led to.
func TestCausesOfRecordedOutputs(t *testing.T) {
	t.Parallel()
	for file, cause := range map[string]string{
		"go1-type.jsonl": "walker/walker.go", "go1-type.txt": "walker/walker.go", "go1-build.txt": "walker/walker.go", "go1-vet.txt": "walker/walker.go",
		"go4-setup.jsonl": "walker/walker.go", "go4-build.txt": "walker/walker.go", "go5-syntax.jsonl": "walker/walker.go",
		"go7-testfile.jsonl": "util/util_test.go", "cobra1-type.jsonl": "command.go",
		"tsc2-module.txt": "src/price.ts", "tsc4-syntax.txt": "src/round.ts", "tsc5-export.txt": "src/price.ts",
		"jest2-syntax.txt": "src/round.js", "jest3-module.txt": "src/price.js", "jest3-module.json": "src/price.js", "jest5-load.txt": "src/round.js",
		"jest6-testfile.txt": "src/price.test.js", "vitest2-syntax.xml": "src/round.js", "vitest3-module.xml": "src/price.js",
		"mocha2-syntax.tap": "lib/round.js", "mocha3-module.tap": "lib/price.js", "mocha6-testfile.tap": "test/price.js",
		"node2-syntax.tap": "lib/round.js", "node3-module.tap": "lib/price.js", "node6-testfile.tap": "test/price.test.js",
		"pytest2-continue.xml": "shop/rounds.py", "pytest2-syntax.txt": "shop/rounds.py", "pytest3-continue.txt": "shop/price.py",
		"pytest5-conftest.txt": "tests/conftest.py", "click0-base.txt": "tests/conftest.py",
		"mvn3-compile.txtar": "core/src/main/java/org/shop/Cart.java", "mvn6-testfile.txtar": "web/src/test/java/org/web/PageTest.java",
	} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			r := recorded(t, file)
			led := map[string]bool{}
			for _, s := range r.Signatures {
				if cause := r.Follows[s]; cause != "" {
					require.Contains(t, r.Signatures, cause)
					require.Empty(t, r.Follows[cause], "a cause has none")
					continue
				}
				places := r.Positions[s]
				if len(places) == 0 {
					places = r.Paths[s]
				}
				for _, p := range places {
					led[p] = true
				}
			}
			require.Equal(t, []string{cause}, slices.Collect(maps.Keys(led)))
		})
	}
}

// The base of click as a new user has it: no test runs. What comes later must not hide behind it.
func TestNoTestNoProof(t *testing.T) {
	t.Parallel()
	base := recorded(t, "click0-base.txt")
	require.Equal(t, "no test ran", Incomparable(base))
	require.Equal(t, []string{spec.HiddenAll}, base.Hidden)
	require.Equal(t, spec.VerdictUnattributable, Judge(base, &base))
	for _, file := range []string{"mocha7-empty.tap", "node7-empty.tap", "node8-none.tap"} {
		r := recorded(t, file)
		require.True(t, Empty(r), file)
		ran := spec.Receipt{Kind: spec.KindTests, Tests: 5, Passed: 5}
		require.Equal(t, spec.VerdictFail, Judge(r, &ran), file)
	}
	// A suite that is hidden on the base lets the rest be compared, and no other be hidden.
	base = recorded(t, "pytest3-continue.txt")
	require.Empty(t, Incomparable(base))
	require.Equal(t, spec.VerdictBaseline, Judge(base, &base))
	require.Equal(t, []string{"tests/test_cart.py", "tests/test_price.py"}, base.Hidden)
	more := base
	more.Hidden = append(slices.Clone(base.Hidden), "tests/test_name.py")
	require.Equal(t, spec.VerdictFail, Judge(more, &base))
}
