package acceptance

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// tricks make a gate green that tests nothing, each with one changed file.
var tricks = []struct {
	name, path, before, after string
}{
	{"a nested module", "p/go.mod", "", "module x\n"},
	{"a module moved there", "p/go.mod", "", "module example.com/tools\n\ngo 1.26\n"},
	{"an ignored directory", "go.mod", "module m\n\ngo 1.26\n", "module m\n\ngo 1.26\n\nignore ./p\n"},
	{"ignored directories", "go.mod", "module m\n", "module m\n\nignore (\n\t./a // x\n\t./p\n)\n"},
	{"a module in its place", "go.mod", "module m\n\nrequire x.org/a v1.0.0\n", "module m\n\nrequire x.org/a v1.0.0\n\nreplace x.org/a => ./fake\n"},
	{"a workspace", "go.work", "", "go 1.26\n\nuse ./p\n"},
	{"init exits", "p/p.go", "package p\n", "package p\n\nimport \"os\"\n\nfunc init() { os.Exit(0) }\n"},
	{"init exits further down", "p/p.go", "package p\n", "package p\n\nfunc init() {\n\tprint(\"PASS\")\n\tif x {\n\t\tos.Exit(0)\n\t}\n}\n"},
	{"a variable exits", "p/p.go", "package p\n", "package p\n\nvar _ = func() int {\n\tos.Exit(0)\n\treturn 1\n}()\n"},
	{"arguments of the runner", "p/p_test.go", "package p\n", "package p\n\nfunc init() {\n\tos.Args = append(os.Args, \"-test.run=^$\")\n}\n"},
	{"arguments from the code", "p/p.go", "package p\n", "package p\n\nvar _ = flag.Set(\"test.run\", \"^$\")\n"},
	{"a branch for tests", "p/p.go", "package p\n", "package p\n\nfunc F() int {\n\tif testing.Testing() {\n\t\treturn 1\n\t}\n\treturn 2\n}\n"},
	{"TestMain", "p/p_test.go", "package p\n", "package p\n\nfunc TestMain(m *testing.M) {}\n"},
	{"an included file", "build/rules", "check:\n\tgo test\n", "check:\n\ttrue\n"},
	{"an included file by a variable", "build/more.inc", "T = test\n", "T = vet\n"},
	{"a script of a rule", "tools/check", "go test ./...\n", "true\n"},
	{"another Makefile", "GNUmakefile", "", "check:\n\ttrue\n"},
	{"a Makefile in lower case", "makefile", "", "check:\n\ttrue\n"},
	{"a script of a gate in a shell", "ci.sh", "go test ./...\n", "true\n"},
	{"another shell", ".npmrc", "", "script-shell=/bin/true\n"},
	{"options of node", "web/.npmrc", "", "node-options=--require ./x.js\n"},
	{"a script", "package.json", `{"scripts": {"test": "jest"}}`, `{"scripts": {"test": "true"}}`},
	{"a script that a script runs", "package.json", `{"scripts": {"test": "npm run unit", "unit": "jest"}}`, `{"scripts": {"test": "npm run unit", "unit": "true"}}`},
	{"a script that a gate runs", "package.json", `{"scripts": {"all": "jest"}}`, `{"scripts": {"all": "true"}}`},
	{"a script before it", "package.json", `{"scripts": {"all": "jest"}}`, `{"scripts": {"all": "jest", "preall": "rm -r test"}}`},
	{"what a script calls", "run-tests.js", "require('jest')\n", "process.exit(0)\n"},
	{"settings of jest", "package.json", `{"name": "a"}`, `{"name": "a", "jest": {"setupFiles": ["./exit.js"]}}`},
	{"a file of jest", "jest.config.js", "", "module.exports = {testMatch: []}\n"},
	{"a file of mocha", ".mocharc.yml", "", "grep: none\n"},
	{"workspaces", "package.json", `{"workspaces": ["a", "b"]}`, `{"workspaces": ["a"]}`},
	{"a package from a directory", "package.json", `{"devDependencies": {"jest": "30.0.0"}}`, `{"devDependencies": {"jest": "file:./fake"}}`},
	{"a package of another name", "package.json", `{"devDependencies": {"jest": "30.0.0"}}`, `{"devDependencies": {"jest": "npm:fake@1"}}`},
	{"tests of vite", "vite.config.ts", "export default {}\n", "export default { test: { include: [] } }\n"},
	{"no JSON", "package.json", `{"name": "a"}`, `{"name": "a", // x` + "\n}"},
	{"a module as the runner", "unittest.py", "", "def main(): pass\n"},
	{"a package as the runner", "pytest/__init__.py", "", ""},
	{"at the start of Python", "sitecustomize.py", "", "import os\nos._exit(0)\n"},
	{"of the user", "src/usercustomize.py", "", "import sys\n"},
	{"conftest", "tests/conftest.py", "import pytest\n", "import pytest\n\ndef pytest_collection_modifyitems(items):\n    items.clear()\n"},
	{"conftest ignores", "conftest.py", "", "collect_ignore = ['tests']\n"},
	{"conftest chooses", "conftest.py", "", "def pytest_configure(config):\n    config.option.keyword = 'none'\n"},
	{"load_tests", "p/__init__.py", "", "def load_tests(loader, tests, pattern):\n    return tests.__class__()\n"},
	{"_exit", "p/a.py", "x = 1\n", "import os\nx = 1\nos._exit(0)\n"},
	{"pytest.ini", "tests/pytest.ini", "", ""},
	{"tox.ini", "tox.ini", "[pytest]\n", "[pytest]\naddopts = -k none\n"},
	{"setup.cfg", "setup.cfg", "[metadata]\nname = a\n", "[metadata]\nname = a\n[tool:pytest]\naddopts =\n    --deselect tests\n"},
	{"pyproject", "pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'a'\n\n[tool.pytest.ini_options]\naddopts = \"-k none\"\n"},
	{"pyproject in one line", "pyproject.toml", "[project]\nname = 'a'\n", "tool = { pytest = { ini_options = { addopts = \"-k none\" } } }\n[project]\nname = 'a'\n"},
	{"pyproject in quotes", "pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'a'\n[\"tool\" . 'pytest'.ini_options]\npython_files = []\n"},
	{"pyproject in disguise", "pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'a'\n[tool.\"p\\u0079test\".ini_options]\npython_files = []\n"},
	{"pyproject under another name", "pyproject.toml", "[tool.pytest.ini_options]\nx = 1\n", "[\"tool.pytest.ini_options\"]\nx = 1\n"},
	{"a text in a list with a table", "pyproject.toml", "[tool.poe.tasks]\ntest = ['unit', { cmd = 'x' }]\n", "[tool.poe.tasks]\ntest = ['true', { cmd = 'x' }]\n"},
	{"a plugin of pytest", "pyproject.toml", "[project]\nname = 'a'\n", "[project]\nname = 'a'\n[project.entry-points.pytest11]\nx = 'a.x'\n"},
	{"a runner of cargo", ".cargo/config.toml", "", "[target.x86_64-unknown-linux-gnu]\nrunner = 'true'\n"},
	{"a library without tests", "Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\n\n[lib]\ntest = false\n"},
	{"in one line", "Cargo.toml", "[package]\nname = 'a'\n", "lib = { test = false }\n[package]\nname = 'a'\n"},
	{"a name with dots", "Cargo.toml", "[package]\nname = 'a'\n", "lib.test = false\n[package]\nname = 'a'\n"},
	{"tests by name", "Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\nautotests = false\n"},
	{"another test", "Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\n[[test]]\nname = 'all'\nharness = false\n"},
	{"a member less", "Cargo.toml", "[workspace]\nmembers = ['a', 'b']\n", "[workspace]\nmembers = [\n  'a',\n]\n"},
	{"a crate from a directory", "Cargo.toml", "[package]\nname = 'a'\n", "[package]\nname = 'a'\n[patch.crates-io]\nassert = { path = 'fake' }\n"},
	{"a build script", "build.rs", "", "fn main() { std::process::exit(0) }\n"},
	{"a toolchain", "rust-toolchain.toml", "", "[toolchain]\npath = './fake'\n"},
	{"extensions of Maven", ".mvn/maven.config", "", "-DskipTests\n"},
	{"skipTests", "pom.xml", pomOf(""), pomOf("<properties><skipTests>true</skipTests></properties>")},
	{"skip by a property", "pom.xml", pomOf(""), pomOf("<properties><maven.test.skip>true</maven.test.skip></properties>")},
	{"excluded tests", "pom.xml", pomOf(surefire("3.2.5", "")), pomOf(surefire("3.2.5", "<configuration><excludes><exclude>**/*</exclude></excludes></configuration>"))},
	{"a module less", "pom.xml", pomOf("<modules><module>a</module><module>b</module></modules>"), pomOf("<modules><module>a</module></modules>")},
	{"no XML", "pom.xml", pomOf(""), pomOf("<a>")},
	{"settings of Gradle", "settings.gradle", "include 'a', 'b'\n", "include 'a'\n"},
	{"properties of Gradle", "gradle.properties", "", "org.gradle.jvmargs=-Dskip\n"},
	{"a test task", "build.gradle.kts", "plugins {}\n", "plugins {}\ntasks.test {\n    enabled = false\n}\n"},
	{"TAP", "t/all", "echo 1..1\n./prog && echo ok 1\n", "echo 1..1\necho ok 1\n"},
}

func pomOf(body string) string {
	return "<project><artifactId>a</artifactId><dependencies><dependency><artifactId>d</artifactId><version>1</version></dependency></dependencies>" + body + "</project>"
}

func surefire(version, body string) string {
	return "<build><plugins><plugin><artifactId>maven-surefire-plugin</artifactId><version>" + version + "</version>" + body + "</plugin></plugins></build>"
}

// guardedPatch is a patch of one file in a project with gates of several kinds.
func guardedPatch(path, before, after string, files ...string) *Patch {
	p := &Patch{
		Task: &spec.Task{Files: files},
		Gates: []spec.Gate{
			{Name: "make", Command: []string{"make", "check"}},
			{Name: "npm", Command: []string{"npm", "run", "all"}},
			{Name: "sh", Command: []string{"sh", "-c", "cd . && ./ci.sh"}},
			{Name: "tap", Command: []string{"prove", "-r", "t"}, Format: "tap"},
		},
		Roots: []Root{
			{"Makefile", []byte("include build/rules $(TOP)/more.inc\n\n.PHONY: check\ncheck: x\n\t@sh ./tools/check \\\n\t\t-v\n\nx:\n\tcp README.md main.go out\n\nrun:\n\tpython3 app.py\n")},
			{"package.json", []byte(`{"scripts": {"all": "node ./run-tests.js", "start": "node server.js"}}`)},
		},
		Changes: []Change{{Path: path, After: []byte(after)}},
	}
	if before != "" {
		p.Changes[0].Before = []byte(before)
	}
	return p
}

// A task that has the file by a rule, or was granted it, did not name it.
func TestWhatMakesAGateGreenWithoutTestingIsHeld(t *testing.T) {
	t.Parallel()
	for _, c := range tricks {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			v := Check(guardedPatch(c.path, c.before, c.after, c.path))
			require.Equal(t, Ask, v.Decision, v.Evidence())
			require.Contains(t, strings.Join(v.Evidence(), "\n"), c.path)
		})
	}
}

// What acts on the machine of a person who merges it, or on later agents, is held as CI is, wherever it lies, and protected.
func TestWhatActsOnMachinesAndAgentsIsHeld(t *testing.T) {
	t.Parallel()
	for _, path := range []string{
		".envrc", ".vscode/tasks.json", ".vscode/settings.json", "sub/.vscode/launch.json", ".idea/workspace.xml", ".idea/runConfigurations/a.xml",
		".husky/pre-commit", ".devcontainer/devcontainer.json", ".devcontainer/Dockerfile", ".mcp.json", ".claude/settings.json",
		".claude/agents/a.md", ".claude/hooks/x.sh", ".gemini/settings.json", ".cursor/rules/a.mdc", ".cursor/mcp.json", "AGENTS.md",
		"pkg/AGENTS.md", "CLAUDE.md", "docs/CLAUDE.md", "GEMINI.md", ".npmrc", ".yarnrc.yml", ".cargo/config.toml",
		".git-blame-ignore-revs", ".pre-commit-config.yaml", ".VSCode/tasks.json", "agents.md",
	} {
		t.Run(strings.ReplaceAll(path, "/", " "), func(t *testing.T) {
			t.Parallel()
			for _, before := range []string{"", "old\n"} {
				p := guardedPatch(path, before, "new\n", path)
				v := Check(p)
				require.Equal(t, Ask, v.Decision, v.Evidence())
				require.Contains(t, v.Evidence()[0], "the task does not name the file")
				p.Named = p.Task.Files
				require.Equal(t, Pass, Check(p).Decision, "a person or the master wrote the path")
			}
			require.Contains(t, spec.WriteSet{Protected: spec.Guarded()}.Refuse(path), "protected")
		})
	}
}

// A task that mends a gate is asked about what the gate checks, also in a file that it names: a finding can be hidden there.
func TestATaskThatMendsAGateMayNotHideFindings(t *testing.T) {
	t.Parallel()
	const hides = "the task is to mend gate lint, and its brief does not name the file"
	for name, c := range map[string]struct {
		path, before, after, brief string
		mends                      []string
		want                       string
	}{
		"settings of a linter": {".golangci.yml", "version: 2\n", "version: 2\nlinters: {exclusions: {paths: [src]}}\n", "", []string{"lint"}, hides},
		"new settings":         {".eslintignore", "", "src\n", "", []string{"lint"}, hides},
		"a key of settings":    {"pyproject.toml", "[tool.ruff]\n", "[tool.ruff]\nexclude = ['src']\n", "", []string{"lint"}, hides},
		"what the gate runs":   {"ci.sh", "lint src/*\n", "lint src/b*\n", "", []string{"lint"}, hides},
		"the brief names it":   {".golangci.yml", "version: 1\n", "version: 2\n", "Migrate .golangci.yml.", []string{"lint"}, ""},
		"it mends nothing":     {".golangci.yml", "version: 1\n", "version: 2\n", "", nil, ""},
		"another file":         {"a.go", "package a\n", "package a\n\nvar X = 1\n", "", []string{"lint"}, ""},
		"still lenient":        {"ci.sh", "lint\n", "lint || true\n", "Mend ci.sh.", []string{"lint"}, "lets failures through"},
		"a script of an installation": {
			"package.json", "{\"scripts\": {\"all\": \"node a.js\"}}\n",
			"{\"scripts\": {\"all\": \"node b.js\",\n\"postinstall\": \"node c.js\"}}\n", "", nil, "postinstall runs on every machine",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := guardedPatch(c.path, c.before, c.after, c.path)
			p.Named, p.Task.Mends, p.Task.Brief = p.Task.Files, c.mends, c.brief
			v := Check(p)
			if c.want == "" {
				require.Equal(t, Pass, v.Decision, v.Evidence())
				return
			}
			require.Equal(t, Ask, v.Decision)
			require.Contains(t, strings.Join(v.Evidence(), "\n"), c.want)
		})
	}
}

// Ordinary work on the same files goes through.
func TestDependenciesAndTheLikeAreNotHeld(t *testing.T) {
	t.Parallel()
	pyproject := "[project]\nname = 'a'\ndependencies = [\n  'a>=1', # why\n]\n\n[tool.pytest.ini_options]\naddopts = '-q'\n"
	cargo := "[package]\nname = 'a'\n\n[lib]\ntest = true\n\n[dependencies]\nserde = { version = '1.0', features = ['derive'] }\n\n[[test]]\nname = 'all'\n"
	node := `{"name": "a", "version": "1.0.0", "scripts": {"test": "jest", "start": "node a.js"}, "dependencies": {"test-utils": "1.0.0"}, "jest": {"a": 1}}`
	gradleBuild := "dependencies {\n    testImplementation 'org.junit:junit:5.0'\n}\ntest { useJUnitPlatform() }\n"
	conftest := "import pytest\n\n@pytest.fixture\ndef client():\n    return make(1)\n"
	for _, c := range []struct{ name, path, before, from, to string }{
		{"go.mod", "go.mod", "module m\n\ngo 1.26\n\nrequire x.org/a v1.0.0\n", "v1.0.0", "v1.1.0"},
		{"the next version of a module", "go.mod", "module m\n\nreplace x.org/a/v69 => ./a\n", "v69", "v70"},
		{"a new module", "go.mod", "module m\n\ngo 1.26\n", "go 1.26\n", "go 1.26\n\nrequire (\n\tignore.example.com/x v1.2.0\n)\n"},
		{"a fork", "go.mod", "module m\n", "module m\n", "module m\n\nreplace x.org/a => x.org/b v1.0.0\n"},
		{"test data", "a/testdata/x/go.mod", "", "", "module x\n"},
		{"npm", "package.json", node, "1.0.0\"}", "1.2.0\"}"},
		{"a new package", "package.json", node, `"test-utils"`, `"check-types": "2.0.0", "test-utils"`},
		{"a package of the workspace", "package.json", node, `"test-utils": "1.0.0"`, `"b": "workspace:*", "c": "^2.0.0 || >=3", "d": "latest"`},
		{"vite", "vite.config.ts", "export default { base: '/' }\n", "'/'", "'/a'"},
		{"another layout", "package.json", node, `{"a": 1}`, "{\n  \"a\": 1\n}"},
		{"a script that no gate runs", "package.json", node, "node a.js", "node b.js"},
		{"a new script", "package.json", node, `"start"`, `"dev": "vite", "start"`},
		{"pyproject", "pyproject.toml", pyproject, "a>=1", "a>=2"},
		{"a list in one line", "pyproject.toml", pyproject, "[\n  'a>=1', # why\n]", "['a>=1', 'b']"},
		{"a version of Python", "pyproject.toml", "[tool.mypy]\npython_version = '3.9'\n[tool.ruff]\ntarget-version = 'py39'\n", "3.9", "3.10"},
		{"a comment", "pyproject.toml", pyproject, "# why", "# tool.pytest"},
		{"setup.cfg", "setup.cfg", "[options]\ninstall_requires =\n    a>=1\n\n[tool:pytest]\naddopts = -q\n", "a>=1", "a>=2\n    b"},
		{"Cargo", "Cargo.toml", cargo, "1.0'", "1.2'"},
		{"a new crate", "Cargo.toml", cargo, "serde =", "rand = \"0.9\"\nserde ="},
		{"Maven", "pom.xml", pomOf(""), "<version>1<", "<version>2<"},
		{"a plugin of Maven", "pom.xml", pomOf(surefire("3.2.5", "")), "3.2.5", "3.5.0"},
		{"a new dependency of Maven", "pom.xml", pomOf(""), "<dependencies>", "<dependencies><dependency><artifactId>skip-it</artifactId></dependency>"},
		{"Gradle", "build.gradle", gradleBuild, "5.0", "5.1"},
		{"a version in properties", "gradle.properties", "kotlinVersion=1\n", "1", "2"},
		{"a fixture", "tests/conftest.py", conftest, "make(1)", "make(1, True)"},
		{"a new fixture", "tests/conftest.py", conftest, "import pytest\n", "import pytest\n\npytest_plugins = ['a']\n"},
		{"a server", "server.js", "listen(1)\n", "1", "2"},
		{"what a rule copies", "main.go", "package main\n", "main\n", "main\n\nfunc main() { os.Exit(0) }\n"},
		{"what another rule runs", "app.py", "x = 1\n", "1", "2"},
		{"a name in tests", "a_test.go", "package a\n", "a\n", "a\n\nfunc run() { os.Args = []string{\"x\", \"-test.run=X\"} }\n"},
		{"a seam", "a.go", "package a\n", "a\n", "a\n\nvar exit = func(code int) { os.Exit(code) }\n"},
		{"a file of requirements", "requirements.txt", "a==1\n", "1", "2"},
		{"docs", "docs/agents.txt", "a\n", "a", "b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			after := strings.Replace(c.before, c.from, c.to, 1)
			if c.before == "" {
				after = c.to
			}
			require.NotEqual(t, c.before, after)
			require.Empty(t, Check(guardedPatch(c.path, c.before, after)).Evidence())
		})
	}
}

// A template cannot name files in its task: its brief may name those of Go modules that its shards have.
func TestATemplateMayNameTheFilesOfModules(t *testing.T) {
	t.Parallel()
	const before = "module m\n\nreplace x.org/a => ./a\n"
	for brief, decision := range map[string]Decision{"Use the other one, in go.mod too.": Pass, "Use the other one.": Ask} {
		p := guardedPatch("go.mod", before, strings.Replace(before, "./a", "./b", 1), "go.mod")
		p.Task.Brief = brief
		require.Equal(t, Ask, Check(p).Decision, "it is no shard")
		p.Task.Rule = &spec.ShardRule{}
		require.Equal(t, decision, Check(p).Decision, brief)
	}
	nested := guardedPatch("p/go.mod", "", "module p\n", "p/go.mod")
	nested.Task.Brief, nested.Task.Rule = "Write p/go.mod.", &spec.ShardRule{}
	require.Equal(t, Ask, Check(nested).Decision, "a new module leaves the one above")
}

// A line that comes from elsewhere, and a file that moves, are changes of a guarded file.
func TestLinesThatMoveIntoGuardedFilesAreHeld(t *testing.T) {
	t.Parallel()
	p := guardedPatch("ci.sh", "go test ./...\n", "exit 0\ngo test ./...\n")
	p.Changes = append(p.Changes, Change{Path: "notes.txt", Before: []byte("exit 0\n"), After: []byte("\n")})
	require.Equal(t, []string{"ci.sh:1: what the gate sh runs changes, and the task does not name the file"}, Check(p).Evidence())
	workflow := []byte("on: push\n")
	moved := &Patch{Task: &spec.Task{}, Changes: []Change{
		{Path: ".github/workflows/ci.yml", Before: workflow}, {Path: "docs/ci.yml", After: workflow},
	}}
	require.Equal(t, []string{".github/workflows/ci.yml: a file of gates, CI or linters is gone, and the task does not name the file"},
		Check(moved).Evidence())
}

// A generated file that changes is held where nothing that it is made of changes with it.
func TestGeneratedFilesAreHeldWithoutTheirSources(t *testing.T) {
	t.Parallel()
	const mark, why = "// Code generated from kinds.yaml. DO NOT EDIT.\n", "a generated file changes without its source"
	out := Change{Path: "a/out.go", Before: []byte(mark + "package a\n"), After: []byte(mark + "package a\n\nvar X = 1\n")}
	source := Change{Path: "a/kinds.yaml", Before: []byte("a\n"), After: []byte("b\n")}
	other := Change{Path: "b/other.yaml", Before: []byte("a\n"), After: []byte("b\n")}
	held := func(changes ...Change) bool { return strings.Contains(strings.Join(found(changes...), "\n"), why) }
	require.True(t, held(out))
	require.True(t, held(out, other))
	require.False(t, held(out, source))
	require.False(t, held(Change{Path: out.Path, After: out.After}), "it is new")
	require.False(t, held(Change{Path: out.Path, Before: out.Before}), "it is gone")
	const typed = "// Code generated by \"stringer -type=Kind\"; DO NOT EDIT.\n"
	made := Change{Path: "a/kind_string.go", Before: []byte(typed + "package a\n"), After: []byte(typed + "package a\n\nvar X = 1\n")}
	kind := []byte("package a\n\ntype Kind int\n\nconst A Kind = 1\n")
	require.True(t, held(made))
	require.False(t, held(made, Change{Path: "a/kind.go", Before: []byte("package a\n"), After: kind}))
	require.True(t, held(made, Change{Path: "b/kind.go", Before: []byte("package b\n"), After: kind}), "it is of another package")
}

// Another threshold in a named file of gates is held, and what only looks like a script of an installation is not.
func TestLenientLinesOfNamedFilesAreHeld(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ path, before, after, brief, want string }{
		"words of an installation": {"ci.sh", "check\n", "check\nprint '\"postinstall\": 1'\n", "", ""},
		"another threshold":        {"ci.sh", "check --cover 80\n", "check --cover 70\n", "", "a threshold changes"},
		"another command":          {"ci.sh", "check --cover 80\n", "check --all --cover 80\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := guardedPatch(c.path, c.before, c.after, c.path)
			p.Named, p.Task.Brief = p.Task.Files, c.brief
			evidence := strings.Join(Check(p).Evidence(), "\n")
			if c.want == "" {
				require.Empty(t, evidence)
			} else {
				require.Contains(t, evidence, c.want)
			}
		})
	}
}

// What hides an error, and what a test compares with, is held.
func TestErrorsThatAreDroppedAreHeld(t *testing.T) {
	t.Parallel()
	swallowed := found(Change{Path: "a.py", Before: []byte("x()\n"), After: []byte("try:\n    x()\nexcept Exception:\n    pass\n")})
	require.Contains(t, strings.Join(swallowed, "\n"), "except: pass")
	before := "package a\n\nfunc f() {\n\tif err := g(); err != nil {\n\t\tpanic(err)\n\t}\n}\n"
	dropped := found(Change{Path: "a.go", Before: []byte(before), After: []byte("package a\n\nfunc f() {\n\t_ = g()\n}\n")})
	require.Contains(t, strings.Join(dropped, "\n"), "an error that was handled is dropped")
	golden := found(Change{Path: "testdata/a.golden", Before: []byte("a\n"), After: []byte("b\n")})
	require.Contains(t, strings.Join(golden, "\n"), goldenFile)
}

func TestARenameGoesThroughGuardedFiles(t *testing.T) {
	t.Parallel()
	p := guardedPatch("ci.sh", "go run ./cmd/loader --all\n", "go run ./cmd/fetcher --all\n")
	p.Changes = append(p.Changes, Change{Path: "a.go", Before: []byte("package a\n\nfunc loader() {}\n"), After: []byte("package a\n\nfunc fetcher() {}\n")})
	require.Empty(t, Check(p).Evidence())
}

func FuzzSettings(f *testing.F) {
	for _, c := range tricks {
		f.Add(c.path, c.before)
		f.Add(c.path, c.after)
	}
	f.Add("Cargo.toml", "a.b = [ { c = \"\"\"x\n\"\"\", d = 'e' }, # f\n]\n[[x.y]]\nz = { w.v = 1 }\n")
	f.Fuzz(func(t *testing.T, path, content string) {
		p := &Patch{Task: &spec.Task{}, Changes: []Change{{Path: path, Before: []byte(content), After: []byte(content + "\n")}}}
		for _, finding := range Check(p).Findings {
			require.NotContains(t, finding.Text, "the setting", "a line break at the end is none")
		}
	})
}
