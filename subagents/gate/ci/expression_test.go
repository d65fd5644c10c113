package ci

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestExpressions(t *testing.T) {
	t.Parallel()
	docs, err := parse("x", []byte("{lib: shared, os: ubuntu-latest, build: {cc: gcc}, list: [a]}"))
	require.NoError(t, err)
	v := values{combo: combo{}, env: map[string]string{"A": "a"}}
	for name, one := range docs[0].fields() {
		v.combo[name] = one
	}
	for text, want := range map[string]string{
		"matrix.lib == 'shared'": "true", "matrix.lib != 'SHARED'": "false", "matrix.lib=='static'": "false", "matrix.build.cc": "gcc",
		"matrix.none": "", "matrix.none || 'x'": "x", "matrix.lib && 'y' || 'z'": "y", "(matrix.lib == 'a' && 'macos') || 'ubuntu'": "ubuntu",
		"!contains(matrix.os, 'Ubuntu')": "false", "startsWith(matrix.os, 'win')": "false", "format('py{0}-{1}', env.A, 'b')": "pya-b",
		"github.event_name != 'schedule'": "true", "startsWith(github.ref, 'refs/tags/')": "false", "'it''s'": "it's",
		"github.sha && matrix.none": "", "failure()": "false", "'schedule' == github.event_name": "false", "!'false'": "false",
		// Not known:
		"matrix.list": "?", "matrix.build": "?", "github.sha": "?", "!github.sha": "?", "github.sha || 'x'": "?", "fromJSON('[1]')": "?",
		"github.event_name != 'pull_request'": "?", "github.event_name == 'push'": "?", "": "?",
		"'push' == github.event_name": "?", "contains(github.event_name, 'push')": "?", "github.event_name == 'merge_group'": "?",
		nested("format('{0}0000000000', ", "'a'", 9): "?", "==": "?", "a b": "?",
		"!": "?", strings.Repeat("a(", 1000): "?", strings.Repeat("(", 1000): "?", strings.Repeat("!", 1000) + "true": "?",
	} {
		r := v.value(text)
		if !r.known {
			r.text = "?"
		}
		require.Equal(t, want, r.text, text)
	}
}

// nested calls a function with what it returns, each time ten times as long.
func nested(call, of string, times int) string {
	call = strings.ReplaceAll(call, "0000000000", strings.Repeat("{0}", 9))
	return strings.Repeat(call, times) + of + strings.Repeat(")", times)
}

func TestSteps(t *testing.T) {
	t.Parallel()
	list, _ := in(t, map[string]string{workflow: `on: push
jobs:
  a:
    runs-on: ${{ matrix.lib == 'x' && 'windows-latest' || 'ubuntu-latest' }}
    env: {LIB: '${{ matrix.lib }}', UNUSED: '${{ matrix.lib }}'}
    strategy: {matrix: {include: [{lib: shared, env: {TOXENV: docs}}, {lib: static, env: {TOXENV: py}}]}}
    steps:
      - run: cmake --build -DSHARED=${{ matrix.lib == 'shared' }}
      - {run: tox, env: '${{ matrix.env }}'}
      - {run: make $LIB, env: {NODE_OPTIONS: -a, TOKEN: '${{ secrets.GITHUB_TOKEN }}'}}
      - run: |
          python -Im pip install build
          python3 -mpip install build
          python -VV
          env | sort
          npx patch-package
          ci/ubuntu-install-packages
          testing/get-dart.sh; cmake -E make_directory x; python -m coverage debug sys
      - run: echo job failed && exit 1
      - {run: "import sys\nprint(1)", shell: python}
      - {run: "make a \x60\n  b", shell: pwsh}
      - {run: make later, if: github.event_name != 'pull_request'}
      - {uses: acme/check@v1, with: {part: a}}
      - {uses: acme/check@v1, with: {part: b}}
      - run: |
          A+=1
          make all
`, ".travis.yml": "script: [make one, make two]\n"})
	require.Equal(t, []string{
		"8 a: cmake --build -DSHARED=true", "9 a: TOXENV=docs tox", "10 a: export LIB=shared NODE_OPTIONS=-a; make $LIB",
		`20 a: import sys\nprint(1) | it is for the shell python`, "21 a: make a b | it is for the shell pwsh",
		"22 a: make later", "23 a: uses: acme/check@v1 part=a | an action whose command is not known",
		"24 a: uses: acme/check@v1 part=b | an action whose command is not known", `26 a: A+=1\nmake all`,
		"8 a: cmake --build -DSHARED=false", "9 a: TOXENV=py tox", "10 a: export LIB=static NODE_OPTIONS=-a; make $LIB",
		"1 : make one", "1 : make two",
	}, list)
	lacking := Command{Text: "cd ~ && make", Dir: "."}
	require.Equal(t, "this machine has no make", lacking.lacks(Facts{Has: func(string) bool { return false }}))
}
