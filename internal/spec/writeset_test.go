package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriteSet(t *testing.T) {
	t.Parallel()
	protected := []string{"**/*_test.go", ".github/**"}
	for _, c := range []struct {
		files []string
		path  string
		why   string
	}{
		{nil, "a.go", ""},
		{nil, "a_test.go", "protected (**/*_test.go)"},
		{nil, ".github/workflows/ci.yml", "protected"},
		{[]string{"internal/**"}, "internal/a.go", ""},
		{[]string{"internal/**"}, "internal/a_test.go", "protected"},
		{[]string{"internal/*_test.go"}, "internal/a_test.go", ""},
		{[]string{"internal/a_test.go"}, "internal/a_test.go", ""},
		{[]string{".github/workflows/**"}, ".github/workflows/ci.yml", ""},
		{[]string{"**"}, ".github/workflows/ci.yml", "protected"},
		{nil, "A_Test.Go", "protected"},
		{[]string{"a.go"}, "b_test.go", "b_test.go is outside this task's write set, and protected (**/*_test.go)"},
		{[]string{"internal"}, "internal/deep/a.go", ""},
		{[]string{"internal"}, "internals/a.go", "outside this task's write set: internal"},
		{[]string{"app/[id]/page.tsx"}, "app/[id]/page.tsx", ""},
		{[]string{"a[b"}, "ab", "outside"},
		{[]string{"**"}, ".git/config", "reaches into .git"},
		{[]string{"**"}, "../x", "leaves the repository"},
	} {
		why := WriteSet{Files: c.files, Protected: protected, Unlocked: Unlocks(c.files, protected)}.Refuse(c.path)
		if c.why == "" {
			require.Empty(t, why, "%v %s", c.files, c.path)
		} else {
			require.Contains(t, why, c.why, "%v %s", c.files, c.path)
		}
	}
}

func FuzzWriteSet(f *testing.F) {
	f.Add("a/**", "a/b")
	f.Add("{a,..}/*", "../x")
	f.Fuzz(func(t *testing.T, glob, name string) {
		why := WriteSet{Files: []string{glob}}.Refuse(name)
		if pathProblem(name) != "" {
			require.NotEmpty(t, why)
		}
		_, _ = globProblem(glob)
	})
}
