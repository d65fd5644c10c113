package ci

import (
	"cmp"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// in reads files that a test writes down, and lists their commands as "line job: command", those that do not run here with a reason.
func in(t *testing.T, files map[string]string) (list []string, found *Found) {
	t.Helper()
	found = Read(slices.Collect(maps.Keys(files)), func(file string) ([]byte, error) {
		if text, is := files[file]; is {
			return []byte(text), nil
		}
		return nil, fs.ErrNotExist
	})
	for _, c := range found.Commands {
		line := fmt.Sprintf("%d %s: %s", c.Line, c.Job, c.Name())
		if why := cmp.Or(c.Why, c.lacks(Facts{Has: func(string) bool { return true }})); why != "" {
			line += " | " + why
		}
		list = append(list, line)
	}
	return list, found
}

const workflow = ".github/workflows/ci.yml"

func TestWorkflow(t *testing.T) {
	t.Parallel()
	list, found := in(t, map[string]string{workflow: `name: CI
on: {push: {branches: [main]}, pull_request: {paths: ['web/**', '!docs/**']}}
env: {GOFLAGS: -mod=vendor, NOISE: a}
defaults: {run: {working-directory: web}}
jobs:
  test:
    runs-on: ${{ matrix.os }}
    strategy:
      matrix:
        os: [ubuntu-latest, windows-latest]
        go: ['1.25', '1.26']
        exclude: [{os: windows-latest, go: '1.25'}]
        include: [{os: macos-latest, go: '1.26', extra: -tags=mac}]
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-go@v5
      - run: |
          go mod download
          go test ${{ matrix.extra }} ./... # all of them
          cd sub && npm run "lint" | tee out.txt
      - {run: make win, if: runner.os == 'Windows'}
      - {run: make never, if: false}
      - {run: make tagged, if: "startsWith(github.ref, 'refs/tags/')"}
      - {run: make push, if: github.event_name == 'push'}
      - {run: make failed, if: failure()}
      - {run: make lax, continue-on-error: true}
      - {run: make top, working-directory: .}
      - {run: make keyed, env: {KEY: '${{ secrets.KEY }}'}}
      - {run: 'make ${{ github.sha }}'}
      - run: |
          if ! make odd; then
            exit 1
          fi
  db: {runs-on: ubuntu-latest, services: {postgres: {image: postgres}}, steps: [{run: make db}]}
  site: {runs-on: ubuntu-latest, environment: prod, steps: [{run: make site}, {run: npm publish}]}
  lint:
    runs-on: ubuntu-latest
    steps:
      - {uses: golangci/golangci-lint-action@v6, with: {args: --fix=false}}
      - uses: ./.github/actions/own
        with: {what: check}
      - uses: acme/style-check@v1
      - uses: acme/report@v1
  again: {uses: ./.github/workflows/again.yml, with: {name: b}}
  other: {uses: acme/ci/.github/workflows/x.yml@v1}
`, ".github/actions/own/action.yml": `
inputs: {what: {default: a}, more: {default: c}}
runs: {using: composite, steps: [{run: 'make ${{ inputs.what }} ${{ inputs.more }}', shell: bash}]}
`, ".github/workflows/again.yml": `
on: {workflow_call: {inputs: {name: {type: string}}}}
jobs: {a: {runs-on: ubuntu-latest, steps: [{run: 'make ${{ inputs.name }}'}]}}
`, ".github/workflows/release.yml": `
on: {release: {}, push: {tags: ['v*']}}
jobs: {a: {runs-on: ubuntu-latest, steps: [{run: make release}]}}
`, ".github/workflows/z.yml": `
on: push
jobs:
  a:
    runs-on: ubuntu-latest
    env: {X_FLAGS: '', CTEST_PARALLEL_LEVEL: '2'}
    strategy: {matrix: {a: ['0'], b: ['0'], include: [{a: '1', c: d}]}}
    steps:
      - {run: make test | tee out.txt}
      - {run: make more | tee more.txt}
      - {run: sudo docker build .}
      - {uses: docker/build-push-action@v6, with: {push: false}}
      - {uses: CodSpeedHQ/action@v4, with: {run: tox -e benchmark}}
      - {run: tox -n -e benchmark}
      - {run: diff more.txt want.txt}
      - {run: DEBIAN_FRONTEND=noninteractive sudo apt-get install -y cmake}
      - {run: 'emcmake cmake -G Ninja -S .', env: {CTEST_PARALLEL_LEVEL: 2}}
      - {run: make leg, if: "matrix.b == '0' && matrix.a == '1'"}
      - run: |
          if [ "$RUNNER_OS" == "macOS" ]; then
            wget a
          fi
          for x in a b; do mkdir $x; done
          chmod u-w "$(python -c "import site; print(1)")" || echo no
      - {run: 'if [ "$(gofmt -l .)" ]; then exit 1; fi'}
`})
	require.Empty(t, found.Errors)
	require.Equal(t, []string{
		"19 test: cd web && GOFLAGS=-mod=vendor go test ./...",
		`20 test: cd web/sub && GOFLAGS=-mod=vendor npm run "lint"`,
		"24 test: cd web && GOFLAGS=-mod=vendor make push",
		"26 test: cd web && GOFLAGS=-mod=vendor make lax | CI goes on when it fails",
		"27 test: GOFLAGS=-mod=vendor make top",
		"28 test: cd web && GOFLAGS=-mod=vendor make keyed | it needs the secret KEY",
		"29 test: cd web && export GOFLAGS=-mod=vendor; make ${{ github.sha }} | what ${{ github.sha }} is, its CI alone knows",
		"31 test: cd web && export GOFLAGS=-mod=vendor; if ! make odd; then\\n exit 1\\nfi",
		"21 test: cd web && GOFLAGS=-mod=vendor make win | it runs on windows",
		"19 test: cd web && GOFLAGS=-mod=vendor go test -tags=mac ./... | it runs on macos",
		"34 db: cd web && GOFLAGS=-mod=vendor make db | it needs the service postgres",
		"35 site: cd web && GOFLAGS=-mod=vendor make site | its job deploys",
		"35 site: cd web && GOFLAGS=-mod=vendor npm publish | it publishes or deploys",
		"39 lint: cd web && GOFLAGS=-mod=vendor golangci-lint run --fix=false",
		"3 lint: cd web && GOFLAGS=-mod=vendor make check c",
		"42 lint: cd web && GOFLAGS=-mod=vendor uses: acme/style-check@v1 | an action whose command is not known",
		"3 a: make b",
		"45 other: cd web && GOFLAGS=-mod=vendor uses: acme/ci/.github/workflows/x.yml@v1 | a workflow of another repository: it is not followed",
		"2 : uses: ./.github/workflows/release.yml | a workflow for tags alone, which checks no change",
		"9 a: make test", "10 a: make more | tee more.txt",
		"11 a: sudo docker build . | it needs a container engine",
		"12 a: docker build --file Dockerfile . | it needs a container engine",
		"13 a: tox -e benchmark | it runs at GitHub alone",
		"15 a: diff more.txt want.txt", `25 a: if [ "$(gofmt -l .)" ]; then exit 1; fi`, "18 a: make leg",
	}, list)
	require.Equal(t, map[string][]string{"go": {"1.25", "1.26"}}, found.Commands[0].Versions)
	require.Equal(t, []string{"web/**"}, found.Commands[0].Paths)
	require.Equal(t, []string{"**/*.go"}, found.Commands[13].Paths, "a linter says more than a filter of paths")
}

func TestOtherFormats(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		want       []string
	}{
		"gitlab": {".gitlab-ci.yml", `include: [{local: /more.yml}, {template: Jobs/SAST.gitlab-ci.yml}]
variables: {GOFLAGS: -v}
before_script: [npm ci]
.base: &base {services: [postgres:15], script: [make base]}
test: {extends: .base, variables: {CGO_ENABLED: 0}}
merged: {<<: *base, services: [], script: [[make a, 'cd b'], make c]}
quoted: {script: [!reference [.base, script], make d], tags: [saas-windows-medium]}
hand: {script: make e, when: manual}
tagged: {script: make f, rules: [{if: $CI_COMMIT_TAG}]}
up: {stage: deploy, script: make g}
`, []string{
			"1 : include: Jobs/SAST.gitlab-ci.yml | a file of elsewhere: it is not followed",
			"1 more: GOFLAGS=-v make more",
			"4 test: CGO_ENABLED=0 GOFLAGS=-v make base | it needs the service postgres:15",
			"6 merged: GOFLAGS=-v make a", "6 merged: cd b && GOFLAGS=-v make c",
			"4 quoted: GOFLAGS=-v make base | it runs on windows", "7 quoted: GOFLAGS=-v make d | it runs on windows",
			"8 hand: GOFLAGS=-v make e | CI runs it for tags or by hand", "9 tagged: GOFLAGS=-v make f | CI runs it for tags or by hand",
			"10 up: GOFLAGS=-v make g | its job deploys",
		}},
		"circle": {".circleci/config.yml", `jobs:
  a:
    docker: [{image: x}, {image: 'postgres:9'}]
    parameters: {v: {default: one}}
    working_directory: ~/here
    steps: [checkout, {run: make << parameters.v >>}, own, {own: {what: two}}, {run: {command: make sub, working_directory: sub}}]
  b: {macos: {}, steps: [{run: make mac}, node/lint, {when: {condition: x, steps: [{run: {name: n, command: "make x\nmake y"}}]}}]}
  c: {steps: [{run: make released}]}
  d: {steps: [{run: make unused}]}
commands: {own: {parameters: {what: {default: zero}}, steps: [{run: make << parameters.what >>}]}}
workflows: {w: {jobs: [a, b, {c: {filters: {branches: {only: release}}}}]}}
`, []string{
			"6 a: make one | it needs the service postgres:9", "10 a: make zero | it needs the service postgres:9",
			"10 a: make two | it needs the service postgres:9", "6 a: cd sub && make sub | it needs the service postgres:9",
			"7 b: make mac | it runs on macos", "7 b: orb: node/lint | it runs on macos",
			"7 b: make x | it runs on macos", "8 b: make y | it runs on macos",
		}},
		"azure": {"azure-pipelines.yml", `variables: {conf: Release}
pool: {vmImage: ubuntu-latest}
stages:
- stage: s
  jobs:
  - job: j
    steps:
    - script: |
        npm ci
        make $(conf)
      displayName: all
    - bash: make b
      workingDirectory: sub
    - task: Maven@3
      inputs: {goals: verify}
    - template: t.yml
    - pwsh: Invoke-It
  - job: w
    pool: {vmImage: windows-2022}
    steps: [{script: make w}]
  - deployment: d
    steps: [{script: make d}]
`, []string{
			"10 j: make Release", "12 j: cd sub && make b", "14 j: mvn verify", "16 j: template: t.yml | a template: it is not followed",
			"17 j: Invoke-It | it is for the shell pwsh", "20 w: make w | it runs on windows", "22 d: make d | its job deploys",
		}},
		"jenkins": {"Jenkinsfile", `pipeline {
  stages {
    stage('Test') {
      steps {
        sh '''
          npm ci
          npm test
        '''
        dir("sub") { sh "make \"a\"" }
        // sh 'commented'
        sh(script: 'make b', returnStatus: true)
        bat 'make c'
        withCredentials([x]) { sh 'make d' }
      }
    }
    stage('Deploy') { steps { sh 'make e' } }
  }
  post { always { sh 'make f' } }
}`, []string{
			"7 Test: npm test", `9 Test: cd sub && make "a"`, "11 Test: make b", "12 Test: make c | it runs on windows",
			"13 Test: make d | it needs a secret", "16 Deploy: make e | its stage deploys", "18 : make f | CI runs it after the end",
		}},
		"hooks": {"none", "", []string{
			"4 local: pre-commit run own -a", "6 https://a.example: pre-commit run ruff -a | pre-commit downloads it",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := map[string]string{c.file: c.text, "more.yml": "more: {script: make more}\n"}
			if name == "hooks" {
				files[hookFile] = "repos:\n  - repo: local\n    hooks:\n      - {id: own, entry: make x}\n  - repo: https://a.example\n    hooks: [id: ruff]\n"
			}
			list, found := in(t, files)
			require.Empty(t, found.Errors)
			require.Equal(t, c.want, list)
		})
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	files := map[string]string{
		workflow: `on: push
jobs:
  a:
    runs-on: ubuntu-latest
    steps:
      - run: |
          go test -race -v ./...
          go test './...'
          go test ./sub
          go test ./sub -run X
          make lint
          make all
          npm test -- --reporter dot
          npm run both
          npm run every
          tox -e lint
          missing-tool .
          GOOS=windows go vet ./...
          CI=1 npx eslint .
          pre-commit run --all-files
          ./check.sh
          make skipped
`,
		"Makefile": "GO ?= go\n.PHONY: lint all\nall: lint test\n\t@echo done\nlint: ## lints\n\t@$(GO) vet ./... \\\n\t  -a\ntest:\n\t-$(GO) test ./... \n" +
			"skipped:\n\ttrue && make other\n",
		"package.json": `{"scripts": {"test": "mocha", "both": "npm run lint && npm test", "every": "run-p lint t*", "lint": "eslint ."}}`,
		"tox.ini":      "[tox]\nenvlist = py3,lint\n[testenv]\ncommands = pytest\n[testenv:lint]\ndeps = x\ncommands =\n    ruff check .\n    python -m mypy src\n",
		hookFile:       "repos: [{repo: local, hooks: [{id: a, entry: ruff check .}]}]",
		"check.sh":     "#!/bin/sh\nset -e\nruff check .\n",
	}
	_, found := in(t, files)
	gates := []spec.Gate{
		{Name: "go-test", Command: []string{"go", "test", "-json", "./..."}},
		{Name: "vet", Command: []string{"go", "vet", "./...", "-a"}},
		{Name: "npm-test", Command: []string{"npm", "test", "--", "--reporter", "tap", "--exit"}},
		{Name: "lint", Command: []string{"npx", "eslint", "."}},
		{Name: "ruff", Command: []string{".venv/bin/ruff", "check", "."}},
		{Name: "mypy", Command: []string{"sh", "-c", "cd . && mypy src"}},
	}
	want := []string{
		"go test -race -v ./...: no gate", "go test './...': covered by go-test", "go test ./sub: covered by go-test",
		"go test ./sub -run X: no gate", "make lint: covered by vet", "make all: covered by go-test, vet",
		"npm test -- --reporter dot: covered by npm-test", "npm run both: covered by lint, npm-test",
		"npm run every: covered by lint, npm-test", "tox -e lint: covered by mypy, ruff",
		"missing-tool .: not run here: this machine has no missing-tool", "GOOS=windows go vet ./...: no gate",
		"CI=1 npx eslint .: covered by lint", "pre-commit run --all-files: covered by ruff", "./check.sh: covered by ruff",
		"make skipped: left out",
	}
	var have []string
	judged := found.Judge(Facts{Gates: gates, Skip: []string{"make skipped"}, Has: func(p string) bool { return p != "missing-tool" }})
	for _, j := range judged {
		have = append(have, j.Name()+": "+strings.SplitN(j.String(), "): ", 2)[1])
	}
	require.Equal(t, want, have)
	require.Equal(t, "11 of 16 commands of CI", Share(judged))
	for _, j := range judged[:3] { // what becomes a gate is one
		gates = append(gates, spec.Gate{Name: j.Name(), Command: j.Argv()})
	}
	require.Equal(t, Gate, found.Judge(Facts{Gates: gates, Has: func(string) bool { return true }})[0].State)
}

func TestGatesOfCommands(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		"npm run 'a b'":       {"npm", "run", "a b"},
		"A=1 npm test":        {"env", "A=1", "npm", "test"},
		`test -z "$(gofmt)"`:  {"sh", "-c", `test -z "$(gofmt)"`},
		"a && b":              {"sh", "-c", "a && b"},
		`printf "a\tb" 'c|d'`: {"printf", `a\tb`, "c|d"},
	} {
		c := Command{Text: command, Dir: "."}
		require.Equal(t, want, c.Argv(), command)
	}
	c := Command{Text: "go test ./...", Dir: "a b", Env: []string{"X=1 2"}}
	require.Equal(t, []string{"sh", "-c", "cd 'a b' && X='1 2' go test ./..."}, c.Argv())
	c = Command{Text: "if a; then\n b\nfi", Dir: ".", Env: []string{"X=1", "Y=2"}}
	require.Equal(t, []string{"sh", "-c", "export X=1 Y=2; if a; then\n b\nfi"}, c.Argv())
	has := func(program string) bool { return program == "python3.11" || program == "go1.25" }
	for command, want := range map[string][]string{
		"python -m pytest -q": {"python3.11 -m pytest -q"}, "pytest": {"python3.11 -m pytest"}, "ruff check": nil,
		"go test ./...": {"go1.25 test ./..."},
	} {
		j := Judged{Command: Command{Text: command, Versions: map[string][]string{"python-version": {"3.10", "3.11"}, "go": {"1.25"}}}}
		var have []string
		for _, c := range j.OnVersions(has) {
			have = append(have, c.Text)
		}
		require.Equal(t, want, have, command)
	}
}

func TestFilesOfPrograms(t *testing.T) {
	t.Parallel()
	for command, want := range map[string][]string{
		`test -z "$(gofmt -l .)"`: {"**/*.go"}, "npx tsc -p .": {"**/*.{ts,tsx,mts,cts}"}, "GOOS=windows go vet ./...": {"**/*.go"},
		"if ! gofmt -l . | grep x; then exit 1; fi": {"**/*.go"}, "make check": nil, "gofmt -l . && make check": nil,
		"npm test -- eslint": nil, "ruff check && cargo fmt --check": {"**/*.rs", "**/*.{py,pyi}"},
	} {
		x := expander{func(string) ([]byte, error) { return nil, fs.ErrNotExist }, 1}
		require.Equal(t, want, kindsOf(x.leavesOf(".", command)), command)
	}
}

// Files that are broken, or written to take long, are named, and all else is read.
func TestBadFiles(t *testing.T) {
	t.Parallel()
	laughs := "on: push\na0: &a0 [x, x]\n"
	for i := range 30 {
		laughs += fmt.Sprintf("a%d: &a%d [*a%d, *a%d, *a%d]\n", i+1, i+1, i, i, i)
	}
	merges := "on: push\nm0: &m0 {run: a}\n"
	for i := range 30 {
		merges += fmt.Sprintf("m%d: &m%d {<<: [*m%d, *m%d]}\n", i+1, i+1, i, i)
	}
	long := "on: push\njobs:\n  a:\n    runs-on: x\n    steps:\n" + strings.Repeat("      - run: make a\n", 5_000)
	axes := ""
	for i := range 8 {
		axes += fmt.Sprintf("x%d: [a, b, c, d, e, f, g, h], ", i)
	}
	list, found := in(t, map[string]string{
		".github/workflows/a.yml": "on: push\njobs:\n  a: [\n  b: }\n",
		".github/workflows/b.yml": laughs + "jobs: {a: {steps: *a30}}\n",
		".github/workflows/c.yml": merges + "jobs: {a: {steps: [{<<: *m30}]}}\n",
		".github/workflows/d.yml": "on: push\njobs: {a: {uses: ./.github/workflows/d.yml}}\n",
		".github/workflows/e.yml": long,
		".github/workflows/f.yml": "on: push\njobs: {a: {strategy: {matrix: {" + axes + "}}, steps: [{run: 'make ${{ matrix.x0 }}'}]}}\n",
		".github/workflows/g.yml": "on: push\njobs: 7\n",
		".github/workflows/h.yml": "on: push\njobs: {a: {steps: [{run: \"make \\e[31mred\"}, {uses: ./gone}]}}\n",
		".github/workflows/i.yml": "on: push\njobs: {a: &a {steps: [*a]}}\n",
		".gitlab-ci.yml":          "include: .gitlab-ci.yml\na: {extends: b}\nb: {extends: a}\n",
		"Jenkinsfile":             "sh '''make never",
		"Makefile":                "A = $(A)$(A)x\na: a\n\t$(A)\n",
		"package.json":            `{"scripts": 7}`,
	})
	var errs []string
	for _, err := range found.Errors {
		errs = append(errs, err.Error())
	}
	require.Len(t, errs, 1, errs)
	require.Regexp(t, `^\.github/workflows/a\.yml:\d: `, errs[0])
	require.Contains(t, list, "6 a: make a")
	require.Contains(t, list, "2 a: make b", "of the matrix")
	require.True(t, slices.ContainsFunc(list, func(line string) bool { return strings.Contains(line, "red") }))
	require.NotContains(t, (&Judged{Command: found.Commands[len(found.Commands)-1]}).String(), "\n")
}

func FuzzRead(f *testing.F) {
	f.Add("on: push\njobs: {a: {steps: [{run: make a}]}}")
	f.Add("a: &a [*a]\nb: {<<: *a}\nscript: !reference [a, b]")
	f.Add("stage('x') { sh 'a \"$(b' }")
	f.Fuzz(func(t *testing.T, text string) {
		for _, file := range []string{workflow, ".gitlab-ci.yml", ".circleci/config.yml", "azure-pipelines.yml", "Jenkinsfile", "none"} {
			found := Read([]string{file}, func(string) ([]byte, error) { return []byte(text), nil })
			for _, j := range found.Judge(Facts{Has: func(string) bool { return true }}) {
				require.NotEmpty(t, j.Argv())
				require.NotContains(t, j.String(), "\n")
			}
		}
	})
}
