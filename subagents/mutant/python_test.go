package mutant

import (
	"context"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPythonFindsItsRunner(t *testing.T) {
	t.Parallel()
	venv := behind("sh", `PATH="$PWD/.venv/bin:$PWD/venv/bin:$PATH" && export PATH && `, "python3")
	for name, c := range map[string]struct {
		commands   [][]string
		python, of []string
	}{
		"none": {[][]string{{"make", "test"}}, venv, append(slices.Clone(venv), "-m", "pytest")},
		"a script": {
			[][]string{{"sh", "-c", ". v/bin/activate && set -e; PYTHONPATH=src pytest -q 'a b' && ruff check"}},
			behind("sh", ". v/bin/activate && set -e; ", "PYTHONPATH=src", "python3"),
			behind("sh", ". v/bin/activate && set -e; ", "PYTHONPATH=/seen/python:src", "pytest", "-q"),
		},
		"elsewhere":  {[][]string{{"sh", "-c", "cd a && pytest"}}, venv, append(slices.Clone(venv), "-m", "pytest")},
		"a program":  {[][]string{{"pytest", "-x", "-q", "tests"}}, []string{"python3"}, []string{"pytest", "-q"}},
		"a module":   {[][]string{{"python", "-m", "pytest", "-k", "a b", "tests"}}, []string{"python"}, []string{"python", "-m", "pytest", "-k", "a b"}},
		"of a place": {[][]string{{"v/bin/py.test"}}, []string{"v/bin/python3"}, []string{"v/bin/py.test"}},
		"behind one": {[][]string{{"true"}, {"poetry", "run", "pytest", "t.py"}}, []string{"poetry", "run", "python3"}, []string{"poetry", "run", "pytest"}},
		"coverage": {
			[][]string{{"uv", "run", "coverage", "run", "-m", "pytest"}},
			[]string{"uv", "run", "python3"},
			[]string{"uv", "run", "coverage", "run", "-m", "pytest"},
		},
		"a variable": {
			[][]string{{"env", "PYTHONPATH=src", "python3", "-m", "unittest", "discover", "-f", "-s", "t"}},
			[]string{"env", "PYTHONPATH=src", "python3"},
			[]string{"env", "PYTHONPATH=/seen/python:src", "python3", "-m", "divisi_run", "discover", "-s", "t"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := NewPython(c.commands)
			require.Equal(t, c.python, l.python())
			_, args, err := l.Command(Place{Temp: t.TempDir(), SeenTemp: "/seen"}, []Test{{"a_test.py", "test_a"}})
			require.NoError(t, err)
			if l.runner == pytest {
				i := slices.Index(args, "-p")
				require.Equal(t, "divisi_run", args[i+1])
				require.Equal(t, "a_test.py", args[len(args)-1])
				args = slices.Concat(args[:i], args[i+2:len(args)-5])
			}
			require.Equal(t, c.of, args[:len(c.of)])
		})
	}
}

// pythonTree is an experiment with files that have mutants, and unittest as the runner.
func pythonTree(t *testing.T, files map[string]string, before ...string) *Interpreted {
	t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		t.Skip("it needs python3")
	}
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	e := sandboxed(t, dir)
	e.Before = map[string][]byte{}
	for _, file := range before {
		e.Before[file] = nil
	}
	p, err := Open(t.Context(), e, NewPython([][]string{{"python3", "-m", "unittest", "discover"}}), slices.Sorted(maps.Keys(files)))
	require.NoError(t, err)
	return p
}

// All that a mutant changes, in the order of the source.
func TestPythonMutants(t *testing.T) {
	t.Parallel()
	const source = `#!/usr/bin/env python3
"""A module."""
from __future__ import annotations
LIMIT = 10 > 9

@decorate(1)
def f(a: int = 1, *rest):
    """Words."""
    if a < 3 and rest:
        return "x"
    x[0] = f"{a + 1}"
    close(a)
    log(a)
    for b in c if d else e:
        x -= b
    match a:
        case 1 if b: del x[b]
    raise ValueError(a) from None


class C:
    limit = 1

    async def g(self):
        if self: return
        def h(): return [n for n in self if n not in (1, 2)]
        return await self.strip() , {"a": 1, **self}
`
	p := pythonTree(t, map[string]string{"m.py": source, "broken.py": "def", "latin.py": "x = '\xe9'"})
	var told []string
	for _, m := range p.All() {
		told = append(told, fmt.Sprintf("%d %s %s: %s", m.Line, m.Func, m.Kind, m.New))
	}
	require.Equal(t, []string{
		"4 LIMIT boundary: LIMIT = 10 >= 9", "4 LIMIT constant: LIMIT = 11 > 9", "4 LIMIT constant: LIMIT = 10 > 10",
		"7 f default: def f(a: int = 2, *rest):", "6 f constant: @decorate(2)",
		"9 f condition: a < 3 or rest", "9 f boundary: a <= 3 and rest", "9 f constant: a < 4 and rest",
		"9 f condition: a < 3 and not rest",
		"10 f constant: return ''", "13 f call: ", "14 f element: c if d else e but for the first",
		"14 f condition: c if not d else e", "15 f constant: x -= -b",
		"17 f condition: not b", "18 f error: ", "22 C.limit constant: limit = 2", "25 C.g condition: not self",
		"26 C.g.h returned value: return []", "26 C.g.h element: return [n for n in self but for the first if n not in (1, 2)]",
		"26 C.g.h condition: return [n for n in self if n in (1, 2)]",
		"26 C.g.h element: return [n for n in self if n not in (1,)]", `27 C.g returned value: return None`,
		`27 C.g returned value: return ({'a': 1, **self}, await self.strip())`,
		`27 C.g call: return await self , {"a": 1, **self}`, `27 C.g element: return await self.strip() , {'a': 1}`,
	}, told)
	text := string(p.language.Text(p.products["m.py"].source, p.products["m.py"].of, 0))
	require.Equal(t, strings.Count(source, "\n"), strings.Count(text, "\n"))
	out, err := exec.Command("python3", "-c", "import ast,sys; ast.parse(sys.argv[1])", text).CombinedOutput()
	require.NoError(t, err, "%s\n%s", out, text)
}

const feePython = "def of(amount):\n    if amount > 10:\n        return 3\n    return 0\n"

// head begins a file of tests.
const head = "import inspect, os, unittest, fee\n\nclass FeeTest(unittest.TestCase):\n    def test_of(self):\n        "

// A proof is what new tests find that others do not, whatever they do.
func TestPythonProof(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ fee, test, want string }{
		"tests":       {feePython, "self.assertEqual([fee.of(10), fee.of(11)], [0, 3])", ""},
		"empty":       {feePython, "pass", "FeeTest.test_of in test_fee.py: it reaches no statement of the code: it is empty"},
		"skipped":     {feePython, "self.skipTest('x')", "FeeTest.test_of in test_fee.py: it is skipped: it asserts nothing"},
		"a tautology": {feePython, "assert fee.of(11) == fee.of(11)", "none of 3 changes of the code that it reaches makes an assertion"},
		"the source":  {feePython, "self.assertIn('amount > 10', inspect.getsource(fee.of))", "the tests fail without a change"},
		"a crash": {
			"def of(a):\n    b = [1, 2]\n    return b[a]\n", "fee.of(1)",
			"none of 4 changes of the code that it reaches makes an assertion of it fail: it asserts nothing",
		},
		"the variable": {feePython, "self.assertIsNotNone(os.environ.get('DIVISI_' + 'MUTANT')); fee.of(1)", "none of 3 changes"},
		"loading": {
			feePython + "\nif of(11) != 3:\n    raise ValueError\n", "self.assertEqual(fee.of(11), 3)", "none of 1 changes",
		},
		"a hang": {
			"def of(n):\n    while n > 0:\n        n -= 1\n    return n\n", "self.assertEqual(fee.of(2), 0)", "",
		},
		"a constant": {
			"LIMIT = 10\n\n\ndef of(amount):\n    return min(amount, LIMIT)\n", "self.assertEqual(fee.of(12), 10)", "",
		},
		"a default": {
			"def of(amount, limit=10):\n    x = min(amount, limit)\n    log(x)\n    return 1\n\n\ndef log(x):\n    global last\n    last = x\n",
			"fee.of(12); self.assertEqual(fee.last, 10)", "",
		},
		"a hang while it loads": {
			"N = 3 > 2\nwhile not N:\n    pass\n\n\ndef of(n):\n    return n if N else 0\n", "self.assertEqual(fee.of(2), 2)", "",
		},
		"a fork": {
			"import os\n\n\ndef of(n):\n    if n > 2:\n        for _ in range(3): os.fork()\n    open('left', 'w').close()\n    return n\n",
			"self.assertEqual(fee.of(2), 2)", "",
		},
		"now and then": {
			feePython, "n = int(os.path.exists('seen')); open('seen', 'w').close(); fee.of(1); self.assertEqual(n, 0)",
			"makes an assertion of them fail each time",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if name != "tests" && name != "a crash" && testing.Short() {
				t.Skip("each takes many runs")
			}
			p := pythonTree(t, map[string]string{"fee.py": c.fee, "test_fee.py": head + c.test + "\n"}, "test_fee.py")
			if strings.HasPrefix(name, "a hang") {
				slow := p.Run
				p.Run = func(ctx context.Context, env, args []string, limit time.Duration) ([]byte, bool, error) {
					return slow(ctx, env, args, min(limit, 10*time.Second))
				}
			}
			tests, why, err := NewTests(t.Context(), p.Experiment, p.language, p.now)
			require.NoError(t, err)
			proof, err := Prove(t.Context(), p, tests, why, time.Minute)
			refusal := proof.Refusal()
			if err != nil {
				require.ErrorIs(t, err, ErrRefused)
				refusal = err.Error()
			}
			if require.Contains(t, refusal, c.want); c.want == "" {
				require.Empty(t, refusal)
			}
			require.NoError(t, p.Close())
			data, err := os.ReadFile(filepath.Join(p.Place.Dir, "fee.py"))
			require.NoError(t, err)
			require.Equal(t, c.fee, string(data))
		})
	}
}
