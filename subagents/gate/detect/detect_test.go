package detect

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"divisi/internal/spec"
	"divisi/subagents/gate"

	"github.com/stretchr/testify/require"
)

// of makes the proposal for files with their content.
func of(files map[string]string, o Options) Proposal {
	return Of(slices.Sorted(maps.Keys(files)), func(file string) ([]byte, error) {
		text, ok := files[file]
		if !ok {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}, o)
}

func TestTheGateOfMavenReadsReports(t *testing.T) {
	t.Parallel()
	require.Equal(t, gate.FormatJUnit, of(map[string]string{"pom.xml": "<project/>"}, Options{}).Gates[0].Format)
}

// What works is tried, whatever else the repository has.
func TestLanguagesWhoseProgramIsNotInstalled(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		"go.mod": "module x", "a.go": "", "Cargo.toml": "[dependencies]\na = '1'", "Cargo.lock": "\nsource = x", "src/lib.rs": "",
	}
	has := func(programs ...string) Options {
		return Options{Whole: true, Has: func(name string) bool { return slices.Contains(programs, name) }}
	}
	names := func(p Proposal) (names []string) {
		for _, g := range p.Gates {
			names = append(names, g.Name)
		}
		return names
	}
	p := of(files, has("go"))
	require.Equal(t, []string{"go-build", "go-test"}, names(p))
	require.Empty(t, p.Setup)
	require.Contains(t, p.Notes, "cargo is not installed, so its gates are left out: cargo-test")
	all := []string{"go-build", "go-test", "cargo-test"}
	require.Equal(t, all, names(of(files, has("go", "cargo"))))
	require.Equal(t, all, names(of(files, has())), "what is missing is told when they are tried")
	require.Equal(t, all, names(of(files, Options{Has: has().Has})), "a run has them as they are")
}

func TestGates(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		files map[string]string
		want  []string
	}{
		"nothing": {map[string]string{"README.md": ""}, nil},
		"go": {
			map[string]string{"go.mod": "module x", "tools/go.mod": "module t", "Makefile": "test:\n\tgo test"},
			[]string{"go-build: go build ./...", "go-test: go test -json ./..."},
		},
		"a go package that cannot be imported": {
			map[string]string{"go.mod": "", "zoë/a.go": ""}, []string{"go-test: go test -json ./..."},
		},
		"a module in a directory with other letters": {
			map[string]string{"zoë/go.mod": "", "zoë/a.go": "", "zoë/testdata/é/a.go": ""},
			[]string{"go-build-zo: go -C zoë build ./...", "go-test-zo: go -C zoë test -json ./..."},
		},
		"go below": {
			map[string]string{"svc/go.mod": "", "svc/a.go": "", "svc/deep/go.mod": "", "testdata/go.mod": "", ".x/go.mod": ""},
			[]string{"go-build-svc: go -C svc build ./...", "go-test-svc: go -C svc test -json ./..."},
		},
		"go workspace": {
			map[string]string{
				"go.work":  "go 1.26\nuse ./a // first\nuse (\n\t./b\n\t\"../out\"\n\t./gone\n)\nreplace x => ./c\n",
				"a/go.mod": "",
				"b/go.mod": "",
				"c/go.mod": "",
			},
			[]string{
				"go-build-a: go -C a build ./...", "go-test-a: go -C a test -json ./...",
				"go-build-b: go -C b build ./...", "go-test-b: go -C b test -json ./...",
			},
		},
		"npm": {
			map[string]string{"package.json": `{"scripts":{"test":"vitest run"}}`},
			[]string{"npm-test: npm test -- --reporter=junit"},
		},
		"pnpm": {
			map[string]string{"package.json": `{"scripts":{"test":"x"}}`, "pnpm-lock.yaml": ""},
			[]string{"pnpm-test: pnpm test"},
		},
		"npm without tests": {
			map[string]string{"package.json": `{"scripts":{"test":"echo \"Error: no test specified\" && exit 1"}}`},
			nil,
		},
		"broken package.json": {map[string]string{"package.json": `{`}, nil},
		"pytest": {
			map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "tests/test_a.py": ""},
			[]string{"pytest: python3 -m pytest -q -rfE --continue-on-collection-errors --junitxml=.divisi-pytest.xml"},
		},
		"python, no tests":  {map[string]string{"pyproject.toml": "[tool.pytest.ini_options]", "a.py": ""}, nil},
		"a stray test file": {map[string]string{"scripts/test_it.py": ""}, nil},
		"cargo":             {map[string]string{"Cargo.toml": ""}, []string{"cargo-test: cargo test --workspace --no-fail-fast"}},
		"make":              {map[string]string{"Makefile": "all: x\n\ntest: all\n\t./t"}, []string{"make-test: make test"}},
		"make without test": {map[string]string{"Makefile": "tests:\n\t./t\ntest := 1\n"}, nil},
		"two languages": {
			map[string]string{"Cargo.toml": "", "package.json": `{"scripts":{"test":"x"}}`},
			[]string{"npm-test: npm test", "cargo-test: cargo test --workspace --no-fail-fast"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			gates := of(c.files, Options{}).Gates
			var got []string
			for _, g := range gates {
				got = append(got, g.Name+": "+strings.Join(g.Command, " "))
			}
			require.Equal(t, c.want, got)
		})
	}
}

func TestDetectWithoutReading(t *testing.T) {
	t.Parallel()
	p := Of([]string{"package.json", "Makefile", "go.work", "pnpm-lock.yaml"}, func(string) ([]byte, error) {
		return nil, errors.New("broken disk")
	}, Options{Whole: true})
	require.Equal(t, Proposal{}, p)
}

// problemsOf asks the contract itself: what is proposed must be what a project file may say.
func problemsOf(p Proposal) []spec.Problem {
	project := spec.Project{Gates: p.Gates, Setup: spec.Setup{Command: p.Setup}}
	return project.Validate()
}

func TestProposedNamesAreValid(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("very-long/", 12)
	files := []string{"go.work", "a/b/go.mod", "a-b/go.mod", "ä ö/go.mod", deep + "one/go.mod", deep + "two/go.mod"}
	work := "use (\n./a/b\n./a-b\n\"ä ö\"\n" + deep + "one\n" + deep + "two\n)\n"
	p := Of(files, func(string) ([]byte, error) { return []byte(work), nil }, Options{})
	require.NotEmpty(t, p.Gates)
	require.Empty(t, problemsOf(p))
}

// What each manifest leads to: setup, what it fills, and whether gates can run without it.
func TestProposals(t *testing.T) {
	t.Parallel()
	none := func(string) bool { return false }
	all := func(string) bool { return true }
	deps := `"devDependencies":{"mocha":"1"},"scripts":{"test":"mocha --reporter spec test/"}`
	for name, c := range map[string]struct {
		files  map[string]string
		o      Options
		setup  string
		needed bool
		gates  []string
		fills  []string
	}{
		"npm": {
			map[string]string{"package.json": "{" + deps + "}", "package-lock.json": "{}"},
			Options{},
			"npm ci --no-audit --no-fund", true,
			[]string{"npm-test: npm test -- --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"npm without a lock file": {
			map[string]string{"package.json": "{" + deps + "}"},
			Options{},
			"npm install --no-audit --no-fund", false,
			[]string{"npm-test: npm test -- --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"npm without dependencies": {
			map[string]string{"package.json": `{"scripts":{"test":"node --test"}}`, "package-lock.json": "{}"},
			Options{},
			"", false,
			[]string{"npm-test: env NODE_OPTIONS=--test-reporter=tap npm test"},
			nil,
		},
		"tracked node_modules": {
			map[string]string{"package.json": "{" + deps + "}", "package-lock.json": "{}", "node_modules/a/i.js": ""},
			Options{},
			"", false,
			[]string{"npm-test: npm test -- --reporter tap --exit"},
			nil,
		},
		"pnpm of a version": {
			map[string]string{"package.json": `{"packageManager":"pnpm@9.4.0+sha1.x",` + deps + "}", "pnpm-lock.yaml": ""},
			Options{Has: all},
			`sh -c npm install --global --no-audit --no-fund --prefix "$DIVISI_TOOLS" pnpm@9.4.0 && pnpm install --frozen-lockfile`, true,
			[]string{"pnpm-test: pnpm test --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"pnpm that is not installed": {
			map[string]string{"package.json": "{" + deps + "}", "pnpm-lock.yaml": "lockfileVersion: '6.0'"},
			Options{Has: none},
			`sh -c npm install --global --no-audit --no-fund --prefix "$DIVISI_TOOLS" pnpm@8 && pnpm install --frozen-lockfile`, true,
			[]string{"pnpm-test: pnpm test --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"a version that is no version": {
			map[string]string{"package.json": `{"packageManager":"pnpm@1.2.3; rm -rf ~",` + deps + "}", "pnpm-lock.yaml": ""},
			Options{},
			`sh -c npm install --global --no-audit --no-fund --prefix "$DIVISI_TOOLS" pnpm@1.2.3 && pnpm install --frozen-lockfile`, true,
			[]string{"pnpm-test: pnpm test --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"yarn 1": {
			map[string]string{"package.json": "{" + deps + "}", "yarn.lock": "# yarn lockfile v1\n"},
			Options{},
			"yarn install --frozen-lockfile", true,
			[]string{"yarn-test: yarn test --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"yarn 4": {
			map[string]string{"package.json": "{" + deps + "}", "yarn.lock": "# x\n\n__metadata:\n", ".yarnrc.yml": "nodeLinker: node-modules\n"},
			Options{},
			"yarn install --immutable", true,
			[]string{"yarn-test: yarn test --reporter tap --exit"},
			[]string{"node_modules"},
		},
		"yarn 4 with its packages tracked": {
			map[string]string{
				"package.json": "{" + deps + "}", "yarn.lock": "x\n__metadata:\n", ".pnp.cjs": "", ".yarn/cache/a.zip": "",
			}, Options{}, "", false, []string{"yarn-test: yarn test --reporter tap --exit"}, nil,
		},
		"a project below": {
			map[string]string{"package.json": "{}", "web/package.json": "{" + deps + "}", "web/package-lock.json": "", "doc/package.json": "{" + deps + "}"},
			Options{},
			"sh -c (cd web && npm ci --no-audit --no-fund)", true,
			[]string{"npm-test-web: npm --prefix web test -- --reporter tap --exit"},
			[]string{"web/node_modules"},
		},
		"modules of go": {
			map[string]string{"go.mod": "", "go.sum": "x", "a.go": "", "api/go.mod": "", "api/a.go": "", "api/go.sum": "x"},
			Options{},
			`sh -c for m in . api; do go -C "$m" mod download || exit 1; done`, false,
			[]string{
				"go-build: go build ./...", "go-test: go test -json ./...",
				"go-build-api: go -C api build ./...", "go-test-api: go -C api test -json ./...",
			},
			nil,
		},
		"uv": {
			map[string]string{"pyproject.toml": "[dependency-groups]\ntests = [\"pytest\"]\n", "uv.lock": "", "tests/test_a.py": ""},
			Options{Whole: true, Has: all},
			"uv sync --frozen --group tests", false,
			[]string{"pytest: .venv/bin/python -m pytest -q -rfE --continue-on-collection-errors --junitxml=.divisi-pytest.xml"},
			[]string{".venv"},
		},
		"uv that is not installed": {
			map[string]string{"pyproject.toml": "", "uv.lock": "", "tests/test_a.py": "", "src/click/__init__.py": ""},
			Options{Whole: true, Has: none},
			"", false,
			[]string{"pytest: env PYTHONPATH=src python3 -m pytest -q -rfE --continue-on-collection-errors --junitxml=.divisi-pytest.xml"},
			nil,
		},
		"requirements": {
			map[string]string{"setup.py": "", "requirements-dev.txt": "", "docs-requirements.txt": "", "test_a.py": ""},
			Options{Whole: true},
			"sh -c python3 -m venv .venv && .venv/bin/pip install -r requirements-dev.txt pytest -e .", false,
			[]string{"pytest: .venv/bin/python -m pytest -q -rfE --continue-on-collection-errors --junitxml=.divisi-pytest.xml"},
			[]string{".venv"},
		},
		"requirements with digests": {
			map[string]string{
				"setup.py": "", "test_a.py": "",
				"tox.ini": "[testenv]\ndeps =\n    -r need/a.pip\n    -r need/b.pip\ncommands = coverage run -m pytest --ignore=a/b {posargs}\n" +
					"[testenv:x]\ncommands = pytest --ignore=c",
				"need/a.pip": "x==1 \\\n    --hash=sha256:0\n", "need/b.pip": "y\n",
			},
			Options{Whole: true},
			"sh -c python3 -m venv .venv && .venv/bin/pip install -r need/a.pip && " +
				".venv/bin/pip install -r need/b.pip pytest -e .", false,
			[]string{"pytest: .venv/bin/python -m pytest -q -rfE --continue-on-collection-errors --ignore=a/b --junitxml=.divisi-pytest.xml"},
			[]string{".venv"},
		},
		"cargo": {
			map[string]string{"Cargo.toml": "", "Cargo.lock": "[[package]]\nsource = \"registry\"\n"},
			Options{},
			"cargo fetch --locked", false,
			[]string{"cargo-test: cargo test --workspace --no-fail-fast"},
			nil,
		},
		"maven": {
			map[string]string{"pom.xml": "<project/>"},
			Options{},
			"mvn -B -q -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true -Dsurefire.timeout=60 test", false,
			[]string{"mvn-test: mvn -B --fail-at-end -DtrimStackTrace=false test"},
			[]string{"target"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := of(c.files, c.o)
			var gates []string
			for _, g := range p.Gates {
				gates = append(gates, g.Name+": "+strings.Join(g.Command, " "))
			}
			require.Equal(t, c.gates, gates)
			require.Equal(t, c.setup, strings.Join(p.Setup, " "))
			require.Equal(t, c.needed, p.Needed)
			require.Equal(t, c.fills, p.Ignored)
			require.Empty(t, problemsOf(p))
		})
	}
}

// A workspace that others need, and whose output is not tracked, is built by setup and again for each tree.
func TestDerived(t *testing.T) {
	t.Parallel()
	p := of(map[string]string{
		"package.json":            `{"workspaces":["packages/*"],"scripts":{"test":"vitest run","build":"tsc -b"}}`,
		"package-lock.json":       "{}",
		"packages/a/package.json": `{"name":"@x/a","main":"./dist/index.js","exports":{".":{"types":"./types/a.d.ts"}}}`,
		"packages/b/package.json": `{"name":"@x/b","main":"dist/index.js","dependencies":{"@x/a":"*"}}`,
		"packages/c/package.json": `{"name":"@x/c","main":"lib/index.js"}`, "packages/c/lib/index.js": "",
	}, Options{})
	require.Equal(t, []string{"packages/a/dist", "packages/a/types"}, p.Derived, "nothing needs b, and c is tracked")
	require.Equal(t, []string{"npm", "run", "build"}, p.Regenerate)
	require.Equal(t, []string{"sh", "-c", "npm ci --no-audit --no-fund && npm run build"}, p.Setup)
}

func TestReporters(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]string{
		"mocha": "--reporter tap --exit", "NODE_ENV=test mocha -r x": "--reporter tap --exit", "npm run lint && nyc mocha": "--reporter tap --exit",
		"cross-env A=1 vitest run": "--reporter=junit", "ava": "--tap", "jest --ci": "--json", "jest --watch": "", "mocha --parallel": "", "mocha | tee log": "",
		"mocha; true": "", "mocha || true": "", "echo mocha": "", "node --test --test-reporter=spec": "", "vitest --watch": "",
		"mocha -- a": "", "mocha &": "", "": "", "mocha $(x)": "", "mocha && npm run e2e": "",
	} {
		_, flags, _ := reporter(script)
		require.Equal(t, want, strings.Join(flags, " "), script)
	}
}

// FuzzOf: damaged and hostile files are no crash, and what is proposed is what a project file may say.
func FuzzOf(f *testing.F) {
	f.Add("web", "use (\n ./a\n)", `{"scripts":{"test":"mocha"},"workspaces":[],"exports":{"a":["./d/x"]}}`, "lockfileVersion: '6.0'")
	f.Add("a'b", "use a", `{"packageManager":"yarn@4.1.0","dependencies":{"a":"1"},"main":7}`, "\n__metadata:")
	f.Add("-rf", "\x00", "[[[[", "\nsource = ")
	f.Add("a\nb", "module", `{"workspaces":{"packages":["*","!b","[","a\nb"]},"packages":["**"]}`, "packages: [a, '!b'\n<module>..</module>")
	f.Add("web", "", "", "[workspace]\nexclude = ['web', 3]\n[project]\n[tool.pytest.ini_options]\ntestpaths = [1, 'a']")
	f.Add("p", "", "", "<project><modules><module>../x</module><module>p/../..</module><module>p</module></modules>")
	f.Add("c", "", "", "check test:\n\tx\nenable_testing()\nincludeBuild('../..')\n#[test]")
	f.Fuzz(func(t *testing.T, dir, work, manifest, lock string) {
		if !filepath.IsLocal(dir) || strings.Contains(dir, "\x00") { // which git has not
			return
		}
		for _, name := range []string{"pnpm-lock.yaml", "yarn.lock", "package-lock.json", "Cargo.lock", "uv.lock"} {
			content := map[string]string{
				"go.work": work, "a/go.mod": "", "package.json": manifest, name: lock, "Cargo.toml": lock, "pyproject.toml": lock, "pom.xml": lock,
				path.Join(dir, "package.json"): manifest, path.Join(dir, name): lock, path.Join(dir, "go.mod"): work, path.Join(dir, "a.go"): "",
				path.Join(dir, "test_a.py"): "", path.Join(dir, "pyproject.toml"): lock, path.Join(dir, "tox.ini"): lock,
				path.Join(dir, "Cargo.toml"): lock, path.Join(dir, "pom.xml"): lock, path.Join(dir, "src/test/a.java"): "",
				path.Join(dir, "settings.gradle"): lock, path.Join(dir, "a.c"): "", path.Join(dir, "CMakeLists.txt"): lock,
				path.Join(dir, "Makefile"): lock, path.Join(dir, "a.rs"): lock, "pnpm-workspace.yaml": lock, "lerna.json": manifest,
				path.Join(dir, "sub/package.json"): manifest, path.Join(dir, "sub/pnpm-workspace.yaml"): lock,
			}
			for _, whole := range []bool{true, false} {
				p := of(content, Options{Whole: whole})
				require.Empty(t, problemsOf(p))
				require.NotContains(t, p.File(nil), "\x00")
			}
		}
	})
}
