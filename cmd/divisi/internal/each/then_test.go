package each

import (
	"io/fs"
	"slices"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"
)

func TestThenIsProposedWhereOneProgramTakesAllFiles(t *testing.T) {
	t.Parallel()
	with := func(name, text string) fs.FS { return fstest.MapFS{name: {Data: []byte(text)}} }
	none, all := with("x", ""), []string{"goimports", "gofmt", "ruff", "npx"}
	for name, c := range map[string]struct {
		files     []string
		repo      fs.FS
		installed []string
		want      string
	}{
		"go":                    {[]string{"a.go", "b/c.go"}, none, all, "goimports -w {files}"},
		"go without goimports":  {[]string{"a.go"}, none, []string{"gofmt"}, "gofmt -w {files}"},
		"go without programs":   {[]string{"a.go"}, none, nil, ""},
		"go and text":           {[]string{"a.go", "README.md"}, none, all, ""},
		"no file":               {nil, none, all, ""},
		"python without ruff":   {[]string{"a.py"}, with("pyproject.toml", "[tool.black]\n"), all, ""},
		"python, a file":        {[]string{"a.py"}, with("ruff.toml", ""), all, "ruff check --fix --exit-zero --quiet {files}"},
		"python, a section":     {[]string{"a.py"}, with("pyproject.toml", "[x]\n[tool.ruff.lint]\n"), all, "ruff check --fix --exit-zero --quiet {files}"},
		"script without a tool": {[]string{"a.ts"}, with("package.json", `{"dependencies": {"tar": "1"}}`), all, ""},
		"script, damaged":       {[]string{"a.ts"}, with("package.json", `{`), all, ""},
		"script": {
			[]string{"a.ts", "b.mjs"},
			with("package.json", `{"devDependencies": {"prettier": "3", "eslint": "9"}}`), all,
			"npx --no eslint -- --fix {files} || test $? -eq 1 && npx --no prettier -- --log-level warn --write {files}",
		},
	} {
		got := propose(c.files, c.repo, func(p string) bool { return slices.Contains(c.installed, p) })
		require.Equal(t, c.want, got, name)
		require.True(t, got == "" || whole(got), name)
	}
}
