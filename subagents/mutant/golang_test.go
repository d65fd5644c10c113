package mutant

import (
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func all(Mutant) bool { return true }

// mutantsOf are the mutants of the body of a function, as "kind: old -> new".
func mutantsOf(t *testing.T, signature, body string) (told []string) {
	t.Helper()
	source := "package p\n\nfunc f" + signature + " {\n" + body + "\n}\n"
	mutated, mutants, err := Go(map[string][]byte{"p.go": []byte(source)}, 1, "", all)
	require.NoError(t, err)
	for i, m := range mutants {
		require.Equal(t, i+1, m.Number)
		require.Equal(t, "f", m.Func)
		require.LessOrEqual(t, m.from, m.to)
		told = append(told, fmt.Sprintf("%s: %s -> %s", m.Kind, m.Old, m.New))
	}
	for file, text := range mutated {
		_, err := parser.ParseFile(token.NewFileSet(), file, text, 0)
		require.NoError(t, err, string(text))
	}
	return told
}

func TestMutantsOfStatements(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		signature, body string
		want            []string
	}{
		"a boundary":        {"(a int)", "for a < 9 {\n}", []string{"boundary: a < 9 -> a <= 9", "constant: a < 9 -> a < 10"}},
		"a condition":       {"(a bool)", "if a {\n}", []string{"condition: a -> !(a)"}},
		"one of two":        {"(a, b bool)", "if a && !b {\n}", []string{"condition: a && !b -> a || !b", "condition: a && !b -> a && b"}},
		"a case":            {"(a int)", "switch {\ncase a == 1:\n}", []string{"condition: a == 1 -> a != 1", "constant: a == 1 -> a == 2"}},
		"a case of a value": {"(a int)", "switch a {\ncase 1:\n}", nil},
		"a zero":            {"(a int) int", "return a", []string{"returned value: return a -> return 0", "returned value: return a -> return a + 1"}},
		"an error":          {"(e error) (int, error)", "return 0, e", []string{"constant: return 0, e -> return 1, e", "error: return 0, e -> return 0, nil", "error: return 0, e -> return 0, divisiError()"}},
		"a slice": {"() []int", "return []int{1, 2}", []string{
			"returned value: return []int{1, 2} -> return nil", "element: return []int{1, 2} -> return []int{1}",
			"constant: return []int{1, 2} -> return []int{2, 2}", "constant: return []int{1, 2} -> return []int{1, 3}",
		}},
		"an array":         {"() [2]int", "return [2]int{1, 2}", []string{"returned value: return [2]int{1, 2} -> return *new([2]int)", "constant: return [2]int{1, 2} -> return [2]int{2, 2}", "constant: return [2]int{1, 2} -> return [2]int{1, 3}"}},
		"keys stay":        {"()", `a := map[string]int{"a": 1}` + "\n_ = a", []string{`constant: a := map[string]int{"a": 1} -> a = map[string]int{"a": 2}`}},
		"a call":           {"()", "g()", []string{"call: g() -> "}},
		"a lock":           {"()", "mu.Lock()", nil},
		"a sum":            {"(a int)", "a += 2\na -= 3\na++", []string{"constant: a += 2 -> ", "constant: a -= 3 -> a += 3", "constant: a++ -> a--"}},
		"an assignment":    {"(a string)", `a = "x" + a`, []string{`constant: a = "x" + a -> a = "" + a`}},
		"several values":   {"(a int)", "a, b := 1, 2", nil},
		"values of a type": {"(a, b int) (int, int, error)", "return 0, b, nil", []string{"constant: return 0, b, nil -> return 1, b, nil", "returned value: return 0, b, nil -> return 0, 0, nil", "returned value: return 0, b, nil -> return 0, b + 1, nil", "returned value: return 0, b, nil -> return b, 0, nil", "error: return 0, b, nil -> return 0, b, divisiError()"}},
		"a blank":          {"(a int)", "_ = 1", nil},
		"a call assigned":  {"(a []int)", "a[g()] = 1", nil},
		"another operator": {"(a int) int", "return a - 1 + a", []string{"returned value: return a - 1 + a -> return 0", "returned value: return a - 1 + a -> return (a - 1 + a) + 1", "constant: return a - 1 + a -> return a + 1 + a", "constant: return a - 1 + a -> return a - 2 + a"}},
		"no error":         {"() error", "return nil", []string{"error: return nil -> return divisiError()"}},
		"a float":          {"(a float64) float64", "return a", []string{"returned value: return a -> return 0", "returned value: return a -> return a + 0.01"}},
		"words":            {"() error", `return e("no such name")`, []string{`error: return e("no such name") -> return nil`, `error: return e("no such name") -> return divisiError()`, `constant: return e("no such name") -> return e("no such")`}},
		"a closure":        {"()", "x := func() int { return 1 }\n_ = x", []string{"returned value: return 1 -> return 0", "constant: return 1 -> return 2"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, mutantsOf(t, c.signature, c.body))
		})
	}
}

// A variable of the package has another value once it is loaded.
func TestMutantsOfVariables(t *testing.T) {
	t.Parallel()
	source := []byte("package p\n\nvar limits = map[string]int{\"a\": 1, \"b\": 2}\n\nvar _, x, y = 1, 2, 3\n\nconst z = 1\n\nfunc f(a t) bool { return a.z > z }\n")
	mutated, mutants, err := Go(map[string][]byte{"p.go": source}, 1, "", all)
	require.NoError(t, err)
	require.Len(t, mutants, 6)
	require.Equal(t, "return a.z > 2", mutants[5].New)
	require.Equal(t, "limits", mutants[0].Func)
	require.Contains(t, string(mutated["p.go"]), "func init() { if divisiMutant(1) { limits = map[string]int{\"a\": 1} } }\n")
}

// Only what is wanted is changed, and numbers go on where others ended.
func TestWantedMutants(t *testing.T) {
	t.Parallel()
	source := []byte("package p\n\nfunc f(a int) int {\n\treturn a\n}\n\nfunc (x *t[k]) g() bool {\n\treturn x.y\n}\n")
	mutated, mutants, err := Go(map[string][]byte{"d/p.go": source}, 7, "", func(m Mutant) bool { return m.Line == 8 })
	require.NoError(t, err)
	require.Len(t, mutants, 1)
	require.Equal(t, 7, mutants[0].Number)
	require.Equal(t, "t.g", mutants[0].Func)
	require.Contains(t, string(mutated["d/p.go"]), "if divisiMutant(7) { return !(x.y) }; return x.y\n")
	require.Contains(t, string(mutated["d/divisi_mutants.go"]), "package p\n")
	require.True(t, mutants[0].At("d/p.go", 8))
	require.False(t, mutants[0].At("d/p.go", 4))

	mutated, mutants, err = Go(map[string][]byte{"d/p.go": source}, 1, "", func(Mutant) bool { return false })
	require.NoError(t, err)
	require.Empty(t, mutated)
	require.Empty(t, mutants)
	_, _, err = Go(map[string][]byte{"d/p.go": []byte("package p\nfunc {")}, 1, "", all)
	require.ErrorContains(t, err, "read d/p.go for mutants")
}

// Each variant of an expression repeats its text: a large one has none.
func TestALargeExpressionHasNoMutants(t *testing.T) {
	t.Parallel()
	require.Empty(t, mutantsOf(t, "(a int) bool", "return a == 1"+strings.Repeat(" || a == 1", 50_000)))
	require.Empty(t, mutantsOf(t, "(a int)", "if a == 1"+strings.Repeat(" || a == 1", 50_000)+" {\n}"))
	require.Empty(t, mutantsOf(t, "()", "a("+strings.Repeat("1, ", 50_000)+"1)"))
}

const program = `package main

import "fmt"

type named bool

func (n named) not() named {
	if !n {
		return true
	}
	return !n
}

func sum(list ...int) (total int, err error) {
	for i, n := range list {
		switch {
		case n < 0:
			return 0, fmt.Errorf("%d is negative", i)
		case n > 100 && i >= 0:
			continue
		}
		add := func(by int) int { total += by; return total }
		if got := add(n); got < 0 || len(list) == 99 {
			total = 7
		}
	}
	return
}

func main() {
	text := []string{"a", "b"}
	total, err := sum(1, 2, 300)
	fmt.Println(total, err, len(text), named(true).not())
	_, err = sum(1, -2)
	fmt.Println(err)
}
`

// Without a chosen mutant the program does what its source says, with one what that one says.
func TestAProgramWithMutants(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	t.Parallel()
	dir := t.TempDir()
	write := func(name string, data []byte) {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	write("go.mod", []byte("module example.org/m\n\ngo 1.24\n"))
	write("main.go", []byte(program))
	file := filepath.Join(dir, "main.go")
	mutated, mutants, err := Go(map[string][]byte{file: []byte(program)}, 1, "", all)
	require.NoError(t, err)
	overlay := map[string]map[string]string{"Replace": {}}
	for path, text := range mutated {
		write("mutated-"+filepath.Base(path), text)
		overlay["Replace"][path] = filepath.Join(dir, "mutated-"+filepath.Base(path))
	}
	data, err := json.Marshal(overlay)
	require.NoError(t, err)
	write("overlay.json", data)
	build := exec.CommandContext(t.Context(), "go", "build", "-o", "m", "-overlay", "overlay.json", "main.go", chooser)
	build.Dir = dir
	out, err := build.CombinedOutput()
	require.NoError(t, err, string(out))
	run := func(number int) string {
		c := exec.CommandContext(t.Context(), filepath.Join(dir, "m"))
		c.Env = []string{fmt.Sprintf("%s=%d", Var, number), SeenVar + "=" + filepath.Join(dir, "seen")}
		out, _ := c.CombinedOutput() // a mutant can end with an error
		return string(out)
	}
	plain := run(0)
	require.Equal(t, "3 <nil> 2 false\n1 is negative\n", plain)
	seen, err := os.ReadFile(filepath.Join(dir, "seen"))
	require.NoError(t, err)
	reached := strings.Fields(string(seen))
	require.Greater(t, len(reached), 10)
	differ := 0
	for _, m := range mutants {
		if run(m.Number) != plain {
			differ++
		}
	}
	require.GreaterOrEqual(t, differ, 10, "of %d", len(mutants))
}

func FuzzGo(f *testing.F) {
	f.Add([]byte(program))
	f.Add([]byte("package p\nfunc f() { if x := (T{}); x.y { return }; for ; ; a.b++ { } }"))
	f.Fuzz(func(t *testing.T, source []byte) {
		mutated, mutants, err := Go(map[string][]byte{"p.go": source}, 1, "", all)
		if err != nil {
			return
		}
		for file, text := range mutated {
			_, err := parser.ParseFile(token.NewFileSet(), file, text, parser.SkipObjectResolution)
			require.NoError(t, err, "%s\n%d mutants", text, len(mutants))
		}
	})
}
