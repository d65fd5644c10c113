package mutant

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestRenames(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		before, after string
		want          Renames
	}{
		"a function":       {"func Cost(n int) int {\n\treturn cost(n)\n}\n", "func Fee(n int) int {\n\treturn cost(n)\n}\n", Renames{"Cost": "Fee"}},
		"a package":        {"import \"m/old\"\n\nvar x = old.X\n", "import \"m/new\"\n\nvar x = neu.X\n", Renames{`"m/old"`: `"m/new"`, "old": "neu"}},
		"two names of one": {"a(1)\na(2)\n", "b(1)\nc(2)\n", Renames{}},
		"another form":     {"func Cost(n int) int {\n", "func Fee(n, m int) int {\n", Renames{}},
		"of the language":  {"return c, err\n", "return nil, err\n", Renames{}},
		"nothing":          {"a(1)\n", "a(2)\n", Renames{}},
		"a value":          {"return \"a\"\n", "return \"b\"\n", Renames{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := RenamesOf(map[string][]byte{"x.go": []byte(c.before)}, map[string][]byte{"x.go": []byte(c.after)})
			require.Equal(t, c.want, got)
			require.Equal(t, "a", string(got.In([]byte("a"))))
		})
	}
	r := Renames{"Cost": "Fee", `"m/old"`: `"m/new"`}
	require.Equal(t, "import \"m/new\" // Cost\nvar a = x.Fee(\"Cost\", `Cost`, Costs)\n",
		string(r.In([]byte("import \"m/old\" // Cost\nvar a = x.Cost(\"Cost\", `Cost`, Costs)\n"))))
}

func FuzzRenames(f *testing.F) {
	f.Add("func A() {}\n", "func B() {}\n")
	f.Fuzz(func(_ *testing.T, before, after string) {
		r := RenamesOf(map[string][]byte{"x.go": []byte(before)}, map[string][]byte{"x.go": []byte(after)})
		r.In([]byte(before))
	})
}
