package detect

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// pytest is the command of the gate of a Python project.
func pytest(python, ignored string) string {
	return python + " -m pytest -q -rfE --continue-on-collection-errors" + ignored + " --junitxml=.divisi-pytest.xml"
}

// Each project below the top has its gates, once, and what has none is noted.
func TestProjectsBelow(t *testing.T) {
	t.Parallel()
	test := `{"scripts":{"test":"node t.js"}`
	for name, c := range map[string]struct {
		files map[string]string
		o     Options
		gates []string
		notes []string
		setup string
	}{
		"a program of go": {
			files: map[string]string{"go.mod": "", "a.go": "package main\n", "b/go.mod": "", "b/b.go": "package b"},
			gates: []string{
				"go-build: go build -o /dev/null ./...", "go-test: go test -json ./...",
				"go-build-b: go -C b build ./...", "go-test-b: go -C b test -json ./...",
			},
		},
		"modules beside a workspace of go": {
			files: map[string]string{
				"go.work": "use ./a", "a/go.mod": "", "a/a.go": "", "b/go.mod": "", "b/go.sum": "", "b/b.go": "", "pins/go.mod": "",
			},
			gates: []string{
				"go-build-a: go -C a build ./...", "go-test-a: go -C a test -json ./...",
				"go-build-b: env GOWORK=off go -C b build ./...", "go-test-b: env GOWORK=off go -C b test -json ./...",
			},
			setup: "env GOWORK=off go -C b mod download",
		},
		"workspaces whose root tests them": {
			files: map[string]string{
				"package.json": `{"workspaces":["p/*","!p/out"],"scripts":{"test":"x"}}`, "p/a/package.json": test + "}",
				"p/out/package.json": test + "}",
			},
			gates: []string{"npm-test: npm test", "npm-test-p-out: npm --prefix p/out test"},
			setup: "npm install --no-audit --no-fund",
		},
		"workspaces of pnpm whose root has no test": {
			files: map[string]string{
				"package.json": "{}", "pnpm-lock.yaml": "", "pnpm-workspace.yaml": "packages:\n  - 'p/**'\n",
				"p/a/b/package.json": `{"scripts":{"test":"vitest run"},"dependencies":{"x":"1"}}`, "p/c/package.json": "{}",
			},
			gates: []string{"pnpm-test-p-a-b: pnpm --dir p/a/b test --reporter=junit"},
		},
		"workspaces of lerna": {
			files: map[string]string{"package.json": "{}", "lerna.json": `{"packages":["p/*"]}`, "p/a/package.json": test + "}"},
			gates: []string{"npm-test-p-a: npm --prefix p/a test"},
		},
		"turbo": {
			files: map[string]string{
				"package.json": `{"workspaces":{"packages":["p/*"]}}`, "yarn.lock": "", "turbo.json": `{"tasks":{"test":{}}}`,
				"p/a/package.json": test + "}",
			},
			gates: []string{"turbo-test: yarn run turbo run test"},
			setup: "yarn install --frozen-lockfile",
		},
		"nx": {
			files: map[string]string{"package.json": "{}", "nx.json": "{}", "p/a/project.json": "{}"},
			gates: []string{"nx-test: npm exec -- nx run-many --target=test"},
		},
		"a package that needs an installation": {
			files: map[string]string{
				"package.json": test + "}", "t/a/package.json": test + "}", "t/b/package.json": test + `,"dependencies":{"x":"1"}}`,
			},
			gates: []string{"npm-test: npm test", "npm-test-t-a: npm --prefix t/a test"},
			notes: []string{"no gate tests npm packages (t/b): they may need more than a clean checkout; write their gates to .divisi/divisi.yaml"},
		},
		"the same with a setup": {
			files: map[string]string{"package.json": test + "}", "b/package.json": test + `,"dependencies":{"x":"1"}}`},
			o:     Options{Whole: true},
			gates: []string{"npm-test: npm test", "npm-test-b: npm --prefix b test"},
			setup: "sh -c { (cd b && npm install --no-audit --no-fund) || echo 'not installed: b/package.json'; }",
		},
		"crates in no workspace": {
			files: map[string]string{
				"Cargo.toml": "[workspace]\nexclude = ['out']", "in/Cargo.toml": "[package]", "in/t.rs": "#[test]",
				"out/Cargo.toml": "[dependencies]\nin = {path='../in'}", "out/a.rs": "#[test]", "own/Cargo.toml": "[workspace]",
				"far/Cargo.toml": "[workspace]\n[dependencies]\nx = '1'", "far/t.rs": "#[test]", "broken/Cargo.toml": "[[[",
				"fuzz/Cargo.toml": "[workspace]\n[package.metadata]\ncargo-fuzz = true",
			},
			gates: []string{
				"cargo-test: cargo test --workspace --no-fail-fast",
				"cargo-test-out: cargo test --manifest-path out/Cargo.toml --workspace --no-fail-fast",
			},
			notes: []string{
				"no gate tests Rust crates (far): they may need more than a clean checkout; write their gates to .divisi/divisi.yaml",
				"no gate tests Rust crates (own): no tests were found",
			},
			setup: "sh -c { cargo fetch --manifest-path out/Cargo.toml || echo 'not installed: out/Cargo.toml'; }",
		},
		"poms outside of the reactor": {
			files: map[string]string{
				"pom.xml": "<project><modules><module>a</module><module>../x</module><module>.</module></modules></project>",
				"a/pom.xml": "<project><profiles><profile><modules><module>b</module><module>c/pom.xml</module>" +
					"</modules></profile></profiles></project>",
				"a/src/test/A.java": "", "a/b/pom.xml": "<project><modules><module>../..", "a/b/src/test/A.java": "",
				"a/c/pom.xml": "", "a/c/src/test/A.java": "", "d/pom.xml": "<project/>", "d/src/test/A.java": "", "e/pom.xml": "",
			},
			o: Options{Whole: true},
			gates: []string{
				"mvn-test: mvn -B --fail-at-end -DtrimStackTrace=false test",
				"mvn-test-d: mvn -B -f d/pom.xml --fail-at-end -DtrimStackTrace=false test",
			},
			setup: "sh -c mvn -B -q -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true -Dsurefire.timeout=60 " +
				"test && " +
				"{ mvn -B -f d/pom.xml -q -Dmaven.compiler.failOnError=false -Dmaven.test.failure.ignore=true -Dsurefire.timeout=60 test || " +
				"echo 'not installed: d/pom.xml'; }",
		},
		"gradle": {
			files: map[string]string{
				"settings.gradle.kts": `includeBuild("logic")`, "gradlew": "", "a/build.gradle": "", "a/src/jvmTest/A.kt": "",
				"logic/settings.gradle": "", "logic/src/test/A.java": "", "own/settings.gradle": "", "own/src/test/A.java": "",
				"buildSrc/build.gradle": "",
			},
			o: Options{Whole: true},
			gates: []string{
				"gradle-test: ./gradlew --no-daemon --continue --offline test",
				"gradle-test-own: ./gradlew --no-daemon --continue -p own --offline test",
			},
			setup: "sh -c { ./gradlew --no-daemon --continue test || ./gradlew --no-daemon --continue --offline testClasses; } && " +
				"{ { ./gradlew --no-daemon --continue -p own test || ./gradlew --no-daemon --continue -p own --offline testClasses; } || " +
				"echo 'not installed: own/build.gradle'; }",
		},
		"gradle without a setup": {
			files: map[string]string{"build.gradle": "", "src/test/A.java": ""},
			notes: []string{"no gate tests Gradle builds (.): they may need more than a clean checkout; write their gates to .divisi/divisi.yaml"},
		},
		"python, which the top does not collect": {
			files: map[string]string{
				"pyproject.toml": "[tool.pytest.ini_options]\ntestpaths = ['tests']", "tests/test_a.py": "",
				"tests/in/pytest.ini": "", "tests/in/test_b.py": "", "tools/part/pytest.ini": "", "tools/part/tests/test_c.py": "",
				"lib/pyproject.toml": "[project]\ndependencies=['x']", "lib/test_d.py": "", "testdata/pytest.ini": "",
				"testdata/test_e.py": "", "bad/pyproject.toml": "[project", "bad/test_f.py": "",
			},
			gates: []string{
				"pytest: " + pytest("python3", ""),
				"pytest-tools-part: " + pytest("env --chdir=tools/part python3", ""),
			},
			notes: []string{"no gate tests Python projects (lib): they may need more than a clean checkout; write their gates to .divisi/divisi.yaml"},
		},
		"python, which the top collects": {
			files: map[string]string{"pytest.ini": "", "test_a.py": "", "p/pytest.ini": "", "p/test_b.py": ""},
			gates: []string{"pytest: " + pytest("python3", "")},
		},
		"a workspace of uv": {
			files: map[string]string{
				"pyproject.toml": "[tool.uv.workspace]\nmembers = ['p/*']", "uv.lock": "", "test_a.py": "",
				"p/x/setup.cfg": "[metadata]\n[tool:pytest]\ntestpaths =\n  tests\n", "p/x/tests/test_b.py": "",
				"p/x/requirements.txt": "", "own/setup.py": "", "own/requirements.txt": "", "own/requirements-oldest.txt": "",
				"own/src/own/__init__.py": "", "own/test_c.py": "", "own/uv.lock": "",
			},
			o: Options{Whole: true},
			gates: []string{
				"pytest: " + pytest(".venv/bin/python", " --ignore=own --ignore=p/x"),
				"pytest-own: " + pytest("env --chdir=own .venv/bin/python", ""),
				"pytest-p-x: " + pytest("env --chdir=p/x ../../.venv/bin/python", ""),
			},
			setup: "sh -c uv sync --frozen --all-packages && { (cd own && uv sync --frozen) || echo 'not installed: own/uv.lock'; }",
		},
		"python projects alone": {
			files: map[string]string{
				"a/setup.py": "", "a/requirements.txt": "", "a/test_a.py": "", "b/pytest.ini": "", "b/src/b/__init__.py": "", "b/test_b.py": "",
			},
			o: Options{Whole: true},
			gates: []string{
				"pytest-a: " + pytest("env --chdir=a .venv/bin/python", ""),
				"pytest-b: " + pytest("env --chdir=b PYTHONPATH=src python3", ""),
			},
			setup: "sh -c { (cd a && python3 -m venv .venv && .venv/bin/pip install -r requirements.txt pytest -e .) || " +
				"echo 'not installed: a/requirements.txt'; }",
		},
		"poetry": {
			files: map[string]string{
				"pyproject.toml": "[tool.poetry.group.test]\noptional = true\n[tool.poetry.group.docs]\noptional = true\n" +
					"[project.optional-dependencies]\ntests = []",
				"poetry.lock": "", "test_a.py": "",
			},
			o:     Options{Whole: true},
			gates: []string{"pytest: " + pytest(".venv/bin/python", "")},
			setup: "env POETRY_VIRTUALENVS_IN_PROJECT=true poetry install --no-interaction --with test --extras tests",
		},
		"a package of python beside others": {
			files: map[string]string{"go.mod": "", "a.go": "", "pyproject.toml": "[build-system]", "test_a.py": "", "pom.xml": ""},
			o:     Options{Whole: true},
			gates: []string{
				"go-build: go build ./...", "go-test: go test -json ./...", "pytest: " + pytest(".venv/bin/python", ""),
				"mvn-test: mvn -B --fail-at-end -DtrimStackTrace=false test",
			},
			setup: "sh -c { python3 -m venv .venv && .venv/bin/pip install pytest -e . || " +
				"echo 'not installed: pyproject.toml'; } && { mvn -B -q -Dmaven.compiler.failOnError=false " +
				"-Dmaven.test.failure.ignore=true -Dsurefire.timeout=60 test || echo 'not installed: pom.xml'; }",
		},
		"no poetry on the machine": {
			files: map[string]string{"pyproject.toml": "[tool.poetry]\n[build-system]", "poetry.lock": "", "test_a.py": ""},
			o:     Options{Whole: true, Has: func(program string) bool { return program != "poetry" }},
			gates: []string{"pytest: " + pytest(".venv/bin/python", "")},
			setup: "sh -c python3 -m venv .venv && .venv/bin/pip install pytest -e .",
		},
		"poetry without a lock file": {
			files: map[string]string{
				"pyproject.toml": "[tool.poetry.group.dev.dependencies]\npytest = '^7.2.1'\nhypothesis = '*'\nx = {git = 'https://x.example'}\n" +
					"y = '>=2'\n", "test_a.py": "",
			},
			o:     Options{Whole: true},
			gates: []string{"pytest: " + pytest(".venv/bin/python", "")},
			setup: "sh -c python3 -m venv .venv && .venv/bin/pip install hypothesis 'pytest>=7.2.1,<8' x 'y>=2' pytest -e .",
		},
		"python whose tests need more than the package": {
			files: map[string]string{
				"pyproject.toml": "[build-system]\n[project.optional-dependencies]\ndev = []\ntest = []\n[dependency-groups]\n" +
					"base = ['a>=1']\ntests = ['b', {include-group = 'base'}]\nloop = [{include-group = 'loop'}]",
				"tox.ini": "[x]\ndeps =\n    c >= 2  # https://c.example\n    py3{9,10}: d\n[testenv]\ndeps =\n    {[x]deps}\n\n" +
					"    -r{toxinidir}/more.pip\n    -r gone.txt\n    e[f]\npassenv = X\n[testenv:y]\ndeps = z\n",
				"test_a.py": "", "more.pip": "",
			},
			o:     Options{Whole: true},
			gates: []string{"pytest: " + pytest(".venv/bin/python", "")},
			setup: "sh -c python3 -m venv .venv && .venv/bin/pip install 'c >= 2' -r more.pip 'e[f]' b 'a>=1' pytest -e '.[test]'",
		},
		"crates with tests of other marks": {
			files: map[string]string{
				"a/Cargo.toml": "[package]", "a/a.rs": "#[tokio::test(flavor = \"x\")]", "b/Cargo.toml": "[package]", "b/b.rs": "#[rstest]",
				"c/Cargo.toml": "[package]", "c/c.rs": "#[cfg(test)] #[testify]",
			},
			gates: []string{
				"cargo-test-a: cargo test --manifest-path a/Cargo.toml --workspace --no-fail-fast",
				"cargo-test-b: cargo test --manifest-path b/Cargo.toml --workspace --no-fail-fast",
			},
			notes: []string{"no gate tests Rust crates (c): no tests were found"},
		},
		"a workspace of crates without a lock file": {
			files: map[string]string{"Cargo.toml": "[workspace]\nmembers = ['a']", "a/Cargo.toml": "[dependencies]\nx = '1'"},
			gates: []string{"cargo-test: cargo test --workspace --no-fail-fast"},
			setup: "cargo fetch",
		},
		"meson": {
			files: map[string]string{"meson.build": "subdir('t')", "t/meson.build": "t = executable()\ntest('t', t)", "Makefile": "test:\n"},
			gates: []string{`meson-test: sh -c meson setup "$TMPDIR/build" . && meson compile -C "$TMPDIR/build" && ` +
				`{ meson test --no-rebuild -C "$TMPDIR/build"; code=$?; ` +
				`cat "$TMPDIR/build/meson-logs/testlog.junit.xml"; exit $code; }`},
		},
		"a Makefile, where the machine has no meson": {
			files: map[string]string{"meson.build": "test('t', t)", "Makefile": "test:\n"},
			o:     Options{Has: func(program string) bool { return program != "meson" }},
			gates: []string{"make-test: make test"},
		},
		"autoconf": {
			files: map[string]string{"configure.ac": "", "Makefile.am": "", "tests/Makefile.am": "TESTS = a", "CMakeLists.txt": ""},
			gates: []string{`make-check: sh -c cp -R . "$TMPDIR/build" && cd "$TMPDIR/build" && autoreconf -fi && ./configure && ` +
				"make -j 4 && make check"},
		},
		"CMake without tests": {
			files: map[string]string{
				"CMakeLists.txt": "option(A_BUILD_TESTS \"x\" OFF)\n option( B_TEST \"y\" )\noption(C_TESTS \"\" ON)\noption(LATEST \"\" ${X})",
				"a.c":            "",
			},
			gates: []string{`cmake-build: sh -c cmake -S . -B "$TMPDIR/build" -DA_BUILD_TESTS=ON -DB_TEST=ON && cmake --build "$TMPDIR/build" -j 4`},
		},
		"checks before tests": {
			files: map[string]string{"package.json": `{"devDependencies":{"xo":"1","typescript":"1"},"scripts":{"test":"npm run lint && tsc --noEmit && A='b' ava","lint":"xo"}}`},
			setup: "npm install --no-audit --no-fund",
			gates: []string{
				"npm-xo: npm exec -- sh -c npm run lint", "npm-tsc: npm exec -- sh -c tsc --noEmit",
				"npm-test: npm exec -- sh -c A='b' ava --tap",
			},
		},
		"a check that nothing installs": {
			files: map[string]string{"package.json": `{"scripts":{"test":"xo && ava"}}`},
			gates: []string{"npm-test: npm exec -- sh -c ava --tap"},
		},
		"a check that runs before the script of tests": {
			files: map[string]string{"package.json": `{"devDependencies":{"xo":"1"},"scripts":{"pretest":"npm run lint","lint":"xo","test":"tsd && ava"}}`},
			setup: "npm install --no-audit --no-fund",
			gates: []string{"npm-xo: npm exec -- sh -c npm run lint", "npm-test: npm exec -- sh -c ava --tap"},
		},
		"a build that runs before the script of tests": {
			files: map[string]string{"package.json": `{"scripts":{"pretest":"tsc","test":"xo && npm run unit","unit":"jest"}}`},
			gates: []string{"npm-test: npm exec -- sh -c npm run pretest && npm run unit -- --json"},
		},
		"a build before a script that runs another one": {
			files: map[string]string{"package.json": `{"scripts":{"pretest":"tsc","test":"npm run unit","unit":"jest"}}`},
			gates: []string{"npm-test: sh -c npm run pretest && npm run unit -- --json"},
		},
		"scripts in a row": {
			files: map[string]string{"package.json": `{"devDependencies":{"eslint":"1"},"scripts":{"test":"run-s lint unit","lint":"eslint .","unit":"jest"}}`},
			setup: "npm install --no-audit --no-fund",
			gates: []string{"npm-eslint: npm exec -- sh -c npm run lint", "npm-test: npm exec -- sh -c npm run unit -- --json"},
		},
		"scripts in a row, of no known runner": {
			files: map[string]string{"package.json": `{"scripts":{"test":"run-s lint unit","lint":"eslint .","unit":"x"}}`},
			gates: []string{"npm-test: npm test"},
		},
		"a check that writes": {
			files: map[string]string{"package.json": `{"scripts":{"test":"xo --fix && ava"}}`},
			gates: []string{"npm-test: npm test -- --tap"},
		},
		"a build before tests": {
			files: map[string]string{"package.json": `{"scripts":{"test":"xo && npm run build && ava","build":"tsc"}}`},
			gates: []string{"npm-test: npm test -- --tap"},
		},
		"a workspace of pnpm whose top needs nothing": {
			files: map[string]string{
				"package.json": `{"scripts":{"test":"x"}}`, "pnpm-workspace.yaml": "packages: [a]", "pnpm-lock.yaml": "", "a/package.json": "{}",
			},
			setup: "pnpm install --frozen-lockfile", gates: []string{"pnpm-test: pnpm test"},
		},
		"bun": {
			files: map[string]string{"package.json": `{"scripts":{"test":"x"},"devDependencies":{"y":"1"}}`, "bun.lock": ""},
			o:     Options{Has: func(string) bool { return false }},
			gates: []string{"bun-test: bun run test"},
			setup: `sh -c npm install --global --no-audit --no-fund --prefix "$DIVISI_TOOLS" bun@1 && bun install --frozen-lockfile`,
		},
		"the short target": {
			files: map[string]string{"Makefile": "all test: x\n\t./t\ncheck:\n", "sub/Makefile": "test:\n", "sub/a.c": ""},
			gates: []string{"make-check: make check"},
		},
		"make below": {
			files: map[string]string{
				"Makefile": "all:\n", "a/makefile": "test::\n", "a/b/Makefile": "check:\n", "a/b/x.c": "", "doc/Makefile": "test:\n",
			},
			gates: []string{"make-test-a: make -C a test"},
		},
		"make beside another language": {
			files: map[string]string{"go.mod": "", "Makefile": "test:\n", "x.c": "", "c/Makefile": "test:\n", "c/x.c": ""},
			o:     Options{Whole: true},
			gates: []string{"go-build: go build ./...", "go-test: go test -json ./...", "make-test-c: make -C c test"},
		},
		"one name for two": {
			files: map[string]string{"a/b/pytest.ini": "", "a/b/test_a.py": "", "a-b/pytest.ini": "", "a-b/test_a.py": ""},
			gates: []string{
				"pytest-a-b: " + pytest("env --chdir=a-b python3", ""), "pytest-a-b-2: " + pytest("env --chdir=a/b python3", ""),
			},
		},
		"no program for it": {
			files: map[string]string{"c/CMakeLists.txt": "enable_testing()", "c/x.c": "", "c/d/CMakeLists.txt": "add_test(x)"},
			o:     Options{Has: func(string) bool { return false }},
			notes: []string{"no gate tests CMakeLists.txt (c): this machine has no cmake"},
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
			require.Equal(t, c.notes, p.Notes)
			if c.setup != "" {
				require.Equal(t, c.setup, strings.Join(p.Setup, " "))
			}
			require.Empty(t, problemsOf(p))
		})
	}
}

// A project of CMake is built outside of the tree; those below it are its parts.
func TestCMake(t *testing.T) {
	t.Parallel()
	p := of(map[string]string{
		"build/cmake/CMakeLists.txt": "project(x)", "build/cmake/tests/CMakeLists.txt": "include( CTest )", "build/cmake/a.cc": "",
		"Makefile": "all:\n",
	}, Options{})
	require.Len(t, p.Gates, 1)
	require.Equal(t, "cmake-test-build-cmake", p.Gates[0].Name)
	require.Contains(t, p.Gates[0].Command[2], `cmake -S build/cmake -B "$TMPDIR/build" && `)
	require.Empty(t, problemsOf(p))

	fetching := map[string]string{"CMakeLists.txt": "add_subdirectory(t)", "t/CMakeLists.txt": "fetchcontent_makeavailable(x)\nadd_test(a)"}
	p = of(fetching, Options{Whole: true})
	require.Equal(t, `mkdir -p "$TMPDIR/build/_deps" "$DIVISI_TOOLS/fetched" && cmake -S . -B "$TMPDIR/build" && `+
		`find "$TMPDIR/build/_deps" -name '*-src' -prune -exec cp -R '{}' "$DIVISI_TOOLS/fetched" ';'`, p.Setup[2])
	require.Contains(t, p.Gates[0].Command[2], `cp -R "$DIVISI_TOOLS/fetched" "$TMPDIR/build/_deps" && `)
	require.Contains(t, p.Gates[0].Command[2], " -DFETCHCONTENT_FULLY_DISCONNECTED=ON && cmake --build ")
	require.Empty(t, problemsOf(p))
	require.Nil(t, of(fetching, Options{}).Setup)
}

// In place of a gate that proves nothing are tried a chain's last command and its scripts, and the packages of turbo each by itself.
func TestInstead(t *testing.T) {
	t.Parallel()
	p := of(map[string]string{"package.json": `{"scripts":{"test":"node build && npm run own","own":"jest"}}`}, Options{})
	require.Equal(t, []string{"npm", "exec", "--", "sh", "-c", "npm run own -- --json"}, p.Instead["npm-test"][0].Command)
	p = of(map[string]string{"package.json": `{"scripts":{"test":"npm run lint && npm run u:1 && tsd","lint":"standard","u:1":"tap"}}`}, Options{})
	var names []string
	for _, g := range p.Instead["npm-test"] {
		names = append(names, g.Name)
	}
	require.Equal(t, []string{"npm-test-lint", "npm-test-u-1", "npm-test"}, names)
	p = of(map[string]string{
		"package.json": `{"workspaces":["p/*"],"devDependencies":{"turbo":"1"}}`, "turbo.json": `{"tasks":{"test":{}}}`, "bun.lock": "",
		"p/a/package.json": `{"name":"@x/a","scripts":{"test":"x"}}`, "p/b/package.json": `{"name":"b*","scripts":{"test":"x"}}`,
		"p/c/package.json": `{"name":"c"}`,
	}, Options{})
	require.Equal(t, []string{"turbo-test"}, []string{p.Gates[0].Name})
	require.Len(t, p.Instead["turbo-test"], 1)
	require.Equal(t, "turbo-test-p-a", p.Instead["turbo-test"][0].Name)
	require.Equal(t, []string{"bun", "run", "turbo", "run", "test", "--filter=@x/a"}, p.Instead["turbo-test"][0].Command)
	require.Equal(t, []string{"bun", "install", "--frozen-lockfile", "--ignore-scripts"}, p.Bare)
}

// Ten thousand packages are bounded, and those that are left out are told.
func TestManyProjects(t *testing.T) {
	t.Parallel()
	files := map[string]string{"package.json": `{"workspaces":["p/*"]}`}
	for i := range 10_000 {
		files[fmt.Sprintf("p/a%d/package.json", i)] = `{"scripts":{"test":"x"}}`
	}
	p := of(files, Options{})
	require.Len(t, p.Gates, maxProjects)
	require.Len(t, p.Notes, 2)
	require.Regexp(t, `^no gate tests npm packages \(p/a\d+, .* and 445 more\): there are too many$`, p.Notes[0])
	require.Equal(t, "of 10001 files named package.json only the first 500 are read", p.Notes[1])
}

// Files that grow when they are read, or nest without end, say nothing and end soon.
func TestHostileFiles(t *testing.T) {
	t.Parallel()
	var aliases strings.Builder
	aliases.WriteString("a0: &a0 [x,x,x,x,x,x,x,x,x]\n")
	for i := range 11 {
		fmt.Fprintf(&aliases, "a%d: &a%[1]d [%s]\n", i+1, strings.Repeat(fmt.Sprintf("*a%d,", i), 9))
	}
	const deep = 1 << 20
	for _, spaces := range []string{aliases.String() + "packages: *a11\n", "packages: " + strings.Repeat("[", deep), "packages: {a: 1}"} {
		p := of(map[string]string{
			"package.json": `{"workspaces":` + strings.Repeat("[", deep), "w/package.json": "{}", "w/pnpm-workspace.yaml": spaces,
			"p/package.json": `{"scripts":{"test":"x"}}`, "Cargo.toml": "a = " + strings.Repeat("[", deep),
			"pom.xml": strings.Repeat("<module>", deep/8), "a\nb/pytest.ini": "", "a\nb/test_a.py": "", "-x/go.mod": "", "-x/a.go": "",
		}, Options{})
		var names []string
		for _, g := range p.Gates {
			names = append(names, g.Name)
		}
		require.Equal(t, []string{"npm-test-p", "pytest-a-b", "cargo-test", "mvn-test"}, names)
		require.Empty(t, problemsOf(p))
	}
}
