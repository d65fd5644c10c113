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

// What creates names may be made and no more; a protected path and one outside the repository never.
func TestWriteSetCreates(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		creates []string
		path    string
		// made and changed are why the file may not be made where there is none, and not be changed where there is one.
		made, changed string
	}{
		{nil, "src/a.js", "", ""},
		{nil, "src/a.ts", "outside this task's write set", "outside this task's write set"},
		{[]string{"src/*.ts"}, "src/a.js", "", ""},
		{[]string{"src/*.ts"}, "src/a.ts", "", "exists already, and is not this task's"},
		{[]string{"src/*.ts"}, "src/deep/a.ts", "outside this task's write set: src/a.js", "outside this task's write set: src/a.js"},
		{[]string{"src"}, "src/deep/a.ts", "", "exists already"},
		{[]string{"**"}, "anything", "", "exists already"},
		{[]string{"**"}, ".github/workflows/x.yml", "protected (.github/**)", "protected (.github/**)"},
		{[]string{".github/workflows/x.yml"}, ".github/workflows/x.yml", "protected (.github/**)", "protected (.github/**)"},
		{[]string{"**"}, ".git/config", "reaches into .git", "reaches into .git"},
		{[]string{"**"}, "../x", "leaves the repository", "leaves the repository"},
		{[]string{"**"}, "/etc/passwd", "not relative", "not relative"},
		{[]string{"**"}, "a\nb", "control character", "exists already"},
		{[]string{"src/[a"}, "src/a", "outside this task's write set", "outside this task's write set"},
	} {
		set := WriteSet{Files: []string{"src/a.js"}, Protected: []string{".github/**"}, Creates: c.creates}
		for made, want := range map[bool]string{true: c.made, false: c.changed} {
			why := set.RefuseChange(c.path, made)
			if want == "" {
				require.Empty(t, why, "%v %q %v", c.creates, c.path, made)
			} else {
				require.Contains(t, why, want, "%v %q %v", c.creates, c.path, made)
			}
		}
		require.Equal(t, []string{"src/a.js"}, set.Files, "it is not changed")
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
