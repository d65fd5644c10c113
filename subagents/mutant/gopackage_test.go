package mutant

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
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

func compile(t *testing.T, dir string, wanted func(Mutant) bool) *GoPackage {
	t.Helper()
	temp := t.TempDir()
	p, err := Compile(t.Context(), Place{Dir: dir, Temp: temp, SeenDir: dir, SeenTemp: temp}, runner(dir), wanted)
	require.NoError(t, err)
	return p
}

// proofOf is what tests of a file prove beside others of their package.
func proofOf(t *testing.T, tests string) (Proof, error) {
	t.Helper()
	dir := t.TempDir()
	text := "package m\n\nimport \"testing\"\n\n" + tests
	for name, data := range map[string]string{
		"go.mod": "module example.org/m\n\ngo 1.24\n", "m.go": product, "known_test.go": known, "new_test.go": text,
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	p := compile(t, dir, all)
	require.NotEmpty(t, p.Mutants)
	names, err := GoTests("new_test.go", []byte(text), nil)
	require.NoError(t, err)
	return p.Prove(t.Context(), names)
}

func TestWhatTestsProve(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	for name, c := range map[string]struct {
		tests, refusal string
		kills          int
	}{
		"both sides": {"func TestFee(t *testing.T) {\n\tif Fee(10) != 0 || Fee(11) != 3 {\n\t\tt.Fatal()\n\t}\n}\n", "", 5},
		"one side":   {"func TestFee(t *testing.T) {\n\tif Fee(99) != 3 {\n\t\tt.Fatal()\n\t}\n}\n", "", 2},
		"one of two": {
			"func TestFee(t *testing.T) {\n\tif Fee(99) != 3 {\n\t\tt.Fatal()\n\t}\n}\n\nfunc TestTrue(t *testing.T) {\n\tFee(1)\n}\n",
			"TestTrue: no change of the code makes it fail", 2,
		},
		"empty": {"func TestFee(t *testing.T) {}\n", "the tests reach no statement of the package that they are in", 0},
		"no assertion": {
			"func TestFee(t *testing.T) {\n\tFee(10)\n}\n",
			"the tests pass with each of 3 changes of code that they reach and that no other test finds", 0,
		},
		"skipped": {
			"func TestFee(t *testing.T) {\n\tt.Skip()\n\tif Fee(10) != 0 {\n\t\tt.Fatal()\n\t}\n}\n",
			"the tests reach no statement of the package that they are in", 0,
		},
		"tested before": {
			"func TestNames(t *testing.T) {\n\tif Name(\"\") != \"none\" || Name(\"a\") != \"a\" {\n\t\tt.Fatal()\n\t}\n}\n",
			"the other tests of the package find each of the 4 changes that the tests find", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proof, err := proofOf(t, c.tests)
			require.NoError(t, err)
			require.Equal(t, c.refusal, proof.Refusal(), "%+v", proof)
			require.Len(t, proof.Kills, c.kills, "%+v", proof)
		})
	}
}

// Tests that fail by themselves prove nothing, and are an error.
func TestRedTestsAreAnError(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	t.Parallel()
	_, err := proofOf(t, "func TestFee(t *testing.T) {\n\tt.Fatal(\"no\")\n}\n")
	require.ErrorContains(t, err, "run TestFee without a mutant")
}

// A mutant with which a loop does not end is ended, and counts as killed.
func TestAMutantThatHangsIsKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	t.Parallel()
	dir := t.TempDir()
	for name, data := range map[string]string{
		"go.mod":    "module example.org/m\n\ngo 1.24\n",
		"m.go":      "package m\n\nfunc Count(n int) (c int) {\n\tfor n > 0 {\n\t\tn -= 1\n\t\tc++\n\t}\n\treturn\n}\n",
		"m_test.go": "package m\n\nimport \"testing\"\n\nfunc TestCount(t *testing.T) { Count(3) }\n",
	} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600))
	}
	p := compile(t, dir, func(m Mutant) bool { return m.Old == "n -= 1" })
	require.Len(t, p.Mutants, 1)
	killed, err := p.kills(t.Context(), 1, []string{"TestCount"}, time.Second)
	require.NoError(t, err)
	require.True(t, killed)
}

func TestChangedTests(t *testing.T) {
	t.Parallel()
	before := "package m\n\nfunc TestA(t *testing.T) {}\n\nfunc TestB(t *testing.T) {}\n"
	now := "package m\n\nfunc TestMain(m *testing.M) {}\n\nfunc TestA(t *testing.T) {\n}\n\nfunc TestB(t *testing.T) {}\n\nfunc TestC(t *testing.T) {}\n"
	names, err := GoTests("m_test.go", []byte(now), []byte(before))
	require.NoError(t, err)
	require.Equal(t, []string{"TestA", "TestC"}, names)
	names, err = GoTests("m_test.go", []byte(now), []byte("not go"))
	require.NoError(t, err)
	require.Equal(t, []string{"TestA", "TestB", "TestC"}, names)
	_, err = GoTests("m_test.go", []byte("not go"), nil)
	require.Error(t, err)
}

func TestSpread(t *testing.T) {
	t.Parallel()
	require.Equal(t, []int{1, 2}, spread([]int{1, 2}, 3))
	require.Equal(t, []int{0, 2, 5, 7}, spread([]int{0, 1, 2, 3, 5, 6, 7, 8}, 4))
	require.Empty(t, spread(nil, 4))
}
