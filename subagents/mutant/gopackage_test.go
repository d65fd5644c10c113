package mutant

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const product = `package m

type level bool

// Fee is 3 above the limit.
func Fee(amount int) int {
	if amount > 10 {
		return 3
	}
	return 0
}

// Name has a default.
func Name(s string) string {
	if s == "" {
		s = "none"
	}
	return s
}
`

const known = `package m

import "testing"

func TestName(t *testing.T) {
	if Name("") != "none" || Name("a") != "a" {
		t.Fatal(Name(""))
	}
}
`

// runner runs commands here.
func runner(dir string) Runner {
	return func(ctx context.Context, env, args []string, limit time.Duration) ([]byte, bool, error) {
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
		out, err := cmd.CombinedOutput()
		return out, err == nil, nil
	}
}

// sandboxed is an experiment with the package in a directory.
func sandboxed(t *testing.T, dir string) Experiment {
	t.Helper()
	temp, n := t.TempDir(), 1000
	return Experiment{
		Place: Place{Dir: dir, Temp: temp, SeenDir: dir, SeenTemp: temp}, Run: runner(dir), Wanted: all,
		Number: func() int { n += 500; return n },
	}
}

// module writes the files of a module.
func module(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	return dir
}

const mod = "module example.org/m\n\ngo 1.24\n"

// proofOf is what tests of a file prove beside others of their package; before is the file before, "" for none.
func proofOf(t *testing.T, tests, before string) (Proof, error) {
	t.Helper()
	const head = "package m\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nvar _ = os.Getenv\n\n"
	dir := module(t, map[string]string{"go.mod": mod, "m.go": product, "known_test.go": known, "new_test.go": head + tests})
	e := sandboxed(t, dir)
	e.Before = map[string][]byte{"new_test.go": nil}
	if before != "" {
		e.Before["new_test.go"] = []byte(head + before)
	}
	p, err := Compile(t.Context(), e)
	require.NoError(t, err)
	require.NotEmpty(t, p.Mutants)
	texts, err := GoTests("new_test.go", []byte(head+tests), e.Before["new_test.go"])
	require.NoError(t, err)
	var names []Test
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		names = append(names, Test{Name: name})
	}
	return Prove(t.Context(), p, names, nil, time.Minute)
}

func TestWhatTestsProve(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	for name, c := range map[string]struct {
		tests, refusal string
		kills          int
		before         string
	}{
		"both sides": {"func TestFee(t *testing.T) {\n\tif Fee(10) != 0 || Fee(11) != 3 {\n\t\tt.Fatal()\n\t}\n}\n", "", 3, ""},
		"one side":   {"func TestFee(t *testing.T) {\n\tif Fee(99) != 3 {\n\t\tt.Fatal()\n\t}\n}\n", "", 2, ""},
		"one of two": {
			"func TestFee(t *testing.T) {\n\tif Fee(99) != 3 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestTrue(t *testing.T) {\n\tFee(1)\n}\n",
			"TestTrue: none of 3 changes of the code that it reaches makes an assertion of it fail", 2, "",
		},
		"empty": {"func TestFee(t *testing.T) {}\n", "TestFee: it reaches no statement of the code", 0, ""},
		"no assertion": {
			"func TestFee(t *testing.T) {\n\tFee(10)\n}\n",
			"TestFee: none of 3 changes of the code that it reaches makes an assertion of it fail", 0, "",
		},
		"skipped": {
			"func TestFee(t *testing.T) {\n\tt.Skip()\n\tif Fee(10) != 0 {\n\t\tt.Fatal()\n\t}\n}\n",
			"TestFee: it is skipped", 0, "",
		},
		"tested before": {
			"func TestNames(t *testing.T) {\n\tif Name(\"\") != \"none\" || Name(\"a\") != \"a\" {\n\t\tt.Fatal()\n\t}\n}\n",
			"the tests before find each of the 4 changes that the tests reach", 0, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proof, err := proofOf(t, c.tests, c.before)
			require.NoError(t, err)
			require.Equal(t, c.refusal, proof.Refusal(), "%+v", proof)
			require.Len(t, proof.Kills, c.kills, "%+v", proof)
		})
	}
}

// Tests that prove nothing on their own account are an error, and not of the machine.
func TestRefusedTests(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	for name, tests := range map[string]string{
		"red":                             "t.Fatal(\"no\")",
		"they see that a mutant is tried": "Fee(10)\n\tif os.Getenv(\"DIVISI_MUTANT\") != \"\" {\n\t\tt.Fatal()\n\t}",
		"they see where it is told":       "Fee(10)\n\tif os.Getenv(\"DIVISI_MUTANTS_SEEN\") != \"\" {\n\t\tt.Fatal()\n\t}",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := proofOf(t, "func TestFee(t *testing.T) {\n\t"+tests+"\n}\n", "")
			require.ErrorIs(t, err, ErrRefused)
			require.ErrorContains(t, err, "the tests fail without a change of the code")
		})
	}
}

// A test that fails now and then has no mutant to thank for it.
func TestAFlakyTestProvesNothing(t *testing.T) {
	t.Parallel()
	for red, want := range map[int]error{1: ErrRefused, 2: nil} { // the run that fails
		p, n := &GoPackage{Mutants: []Mutant{{Number: 1001}, {Number: 1002}}, Experiment: sandboxed(t, t.TempDir())}, 0
		p.Run = func(_ context.Context, env, _ []string, _ time.Duration) ([]byte, bool, error) {
			require.NoError(t, os.WriteFile(filepath.Join(p.Place.Temp, SeenFile), []byte("1001 1\n1002 4\n7 1\nx\n1002\n"), 0o600))
			require.Len(t, env, 2, "with a mutant and without, a test sees the same")
			if n++; n == red {
				return []byte("=== RUN   TestA\n--- FAIL: TestA (0.00s)\n"), false, nil
			}
			return []byte("=== RUN   TestA\n--- PASS: TestA (0.00s)\n"), true, nil
		}
		proof, err := Prove(t.Context(), p, []Test{{Name: "TestA"}}, nil, time.Minute)
		require.ErrorIs(t, err, want)
		require.Empty(t, proof.Kills, "it failed once, and not again")
	}
}

// What a changed test found before is no proof of it, and a test that was red before is no fault of the new ones.
func TestTestsBefore(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	const old = "func TestFee(t *testing.T) {\n\tif Fee(10) != 0 || Fee(11) != 3 {\n\t\tt.Fatal()\n\t}\n}\n"
	proof, err := proofOf(t, old[:len(old)-2]+"\t// x\n}\n", old)
	require.NoError(t, err)
	require.Equal(t, "the tests before find each of the 5 changes that the tests reach", proof.Refusal())

	const red = "\nfunc TestRed(t *testing.T) { t.Fatal(1) }\n"
	proof, err = proofOf(t, old+red, red)
	require.NoError(t, err)
	require.Empty(t, proof.Refusal())
}

// A mutant with which a loop does not end is ended, and counts as killed; names of the package do not matter.
func TestAMutantThatHangsIsKilled(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	dir := module(t, map[string]string{
		"go.mod":    mod,
		"m.go":      "package m\n\nvar os, sync = 1, 2\n\nfunc Count(n int) (c int) {\n\tfor n > 0 {\n\t\tn -= 1\n\t\tc++\n\t}\n\treturn\n}\n",
		"m_test.go": "//go:build tagged\n\npackage m\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) { Count(3) }\n",
	})
	e := sandboxed(t, dir)
	e.Wanted, e.Flags = func(m Mutant) bool { return m.Old == "n -= 1" }, []string{"-tags", "tagged"}
	e.Before = map[string][]byte{"m_test.go": nil}
	p, err := Compile(t.Context(), e)
	require.NoError(t, err)
	require.Len(t, p.Mutants, 1)
	counts := Test{Name: "TestCount"}
	ran, err := p.Try(t.Context(), New, p.Mutants[0].Number, []Test{counts}, time.Second)
	require.NoError(t, err)
	require.True(t, ran.Kills(counts))
	files, err := filepath.Glob(filepath.Join(e.Place.Temp, prefix+"*"))
	require.NoError(t, err)
	require.Empty(t, files, "no test can look the number up")
}

func TestChangedTests(t *testing.T) {
	t.Parallel()
	before := "package m\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n"
	now := "package m\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(t *testing.T) {\n}\n\nfunc TestB(t *testing.T) {}\n\nfunc TestC(t *testing.T) {}\n"
	names, err := GoTests("m_test.go", []byte(now), []byte(before))
	require.NoError(t, err)
	require.Equal(t, map[string]string{"TestA": "func TestA(t *testing.T) {\n}", "TestC": "func TestC(t *testing.T) {}"}, names)
	names, err = GoTests("m_test.go", []byte(now), []byte("not go"))
	require.NoError(t, err)
	require.Len(t, names, 3)
	_, err = GoTests("m_test.go", []byte("not go"), nil)
	require.Error(t, err)
}

func TestSpread(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{1, 2}, spread([]int{1, 2}, 3))
	require.Equal(t, []int{0, 2, 5, 7}, spread([]int{0, 1, 2, 3, 5, 6, 7, 8}, 4))
	require.Empty(t, spread([]int(nil), 4))
}
