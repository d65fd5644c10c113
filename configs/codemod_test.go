package configs

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestCodemod(t *testing.T) {
	t.Parallel()
	for _, lang := range CodemodLangs {
		c := &Codemod{Name: "move", Lang: lang, Dir: "tools/move", Program: lang, Language: "Rust", Glob: "**/*.rs", Types: true}
		files, err := c.Files()
		require.NoError(t, err)
		require.Len(t, files, 4)
		for _, f := range files {
			require.NotContains(t, f.Text, "{{", f.Path)
			require.NotContains(t, f.Text, "<no value>", f.Path)
		}
		role, err := ParseRole("move.md", files[3].Text)
		require.NoError(t, err)
		require.True(t, role.Join)
		require.Equal(t, append(c.command(), "{files}"), role.Command)
		require.Equal(t, ".divisi/roles/move.md", files[3].Path)
		plan, _, err := ParsePlan("plan.yaml", files[1].Text)
		require.NoError(t, err)
		require.Equal(t, "**/*.rs", plan.Tasks[0].Shard.Glob)
	}
	for _, name := range []string{"My Codemod", "../x", "x\ny: z", "", "null", spec.RoleReader} {
		_, err := (&Codemod{Name: name, Lang: CodemodGo, Dir: "x"}).Files()
		require.Error(t, err, name)
	}
}

// The example of a codemod in Go is what the template makes, with its two lines edited.
func TestTheExampleIsMadeFromTheTemplate(t *testing.T) {
	t.Parallel()
	files, err := (&Codemod{Name: "clock", Lang: CodemodGo, Dir: ".divisi/codemods/clock", Glob: "**/*.go"}).Files()
	require.NoError(t, err)
	edited := strings.NewReplacer(`"io/ioutil", "ReadFile"`, `"time", "Now"`, `"os", "ReadFile"`, `"example.com/clock", "Now"`)
	for _, f := range []StarterFile{files[0], files[2]} {
		have, err := os.ReadFile(filepath.Join("../examples/codemod-go/repo", f.Path))
		require.NoError(t, err)
		require.Equal(t, edited.Replace(f.Text), string(have), f.Path)
	}
}

// The program in Go moves a function between packages, with the imports that files have in each form.
func TestTheGoCodemodKeepsImportsRight(t *testing.T) {
	t.Parallel()
	files, err := (&Codemod{Name: "move", Lang: CodemodGo, Dir: "move", Glob: "**/*.go"}).Files()
	require.NoError(t, err)
	dir := t.TempDir()
	program := filepath.Join(dir, "main.go")
	require.NoError(t, os.WriteFile(program, []byte(files[0].Text), 0o600))
	binary := filepath.Join(dir, "move")
	out, err := exec.CommandContext(t.Context(), "go", "build", "-o", binary, program).CombinedOutput()
	require.NoError(t, err, string(out))
	for _, test := range []struct{ before, after string }{
		{"import \"io/ioutil\"\n\nvar _, _ = ioutil.ReadFile(\"a\")\n", "import \"os\"\n\nvar _, _ = os.ReadFile(\"a\")\n"},
		{
			"import \"io/ioutil\"\n\nvar _, _ = ioutil.ReadFile(\"a\")\nvar _ = ioutil.Discard\n",
			"import (\n\t\"io/ioutil\"\n\t\"os\"\n)\n\nvar _, _ = os.ReadFile(\"a\")\nvar _ = ioutil.Discard\n",
		},
		{
			"import (\n\told \"io/ioutil\" // old\n\tsys \"os\"\n)\n\nvar _, _ = old.ReadFile(sys.Args[0]) // stays\n",
			"import (\n\tsys \"os\"\n)\n\nvar _, _ = sys.ReadFile(sys.Args[0]) // stays\n",
		},
		{
			"import \"io/ioutil\"\n\nfunc f(ioutil interface{ ReadFile(string) }) { ioutil.ReadFile(\"a\") }\n\nvar _ = ioutil.Discard\n",
			"",
		},
		{"import \"os\"\n\nvar ioutil = os.Args // ioutil.ReadFile\n", ""},
	} {
		name := filepath.Join(t.TempDir(), "a.go")
		require.NoError(t, os.WriteFile(name, []byte("package a\n\n"+test.before), 0o600))
		out, err := exec.CommandContext(t.Context(), binary, name).CombinedOutput()
		require.NoError(t, err, string(out))
		have, err := os.ReadFile(name)
		require.NoError(t, err)
		if test.after == "" {
			test.after = test.before
		}
		require.Equal(t, "package a\n\n"+test.after, string(have))
	}
}
