package detect

import (
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

// A project below the top has paths where no file shows a link to another one.
func TestPathsOfProjectsBelow(t *testing.T) {
	t.Parallel()
	mod := map[string]string{"a/go.mod": "module a", "a/a.go": "package a", "b/go.mod": "module b", "b/b.go": "package b"}
	npm := `{"scripts":{"test":"node t.js"}}`
	for name, c := range map[string]struct {
		files map[string]string
		clean bool // without init
		want  string
	}{
		"two modules of go":      {files: mod, want: "a=a/** a=a/** b=b/** b=b/**"},
		"a run without init":     {files: mod, clean: true, want: "a= a= b= b="},
		"a workspace of go":      {files: with(mod, "go.work", "use ./a"), want: "a= a= b= b="},
		"the top and one below":  {files: map[string]string{"go.mod": "", "a.go": "", "b/go.mod": "", "b/b.go": ""}, want: ".= .= b=b/** b=b/**"},
		"a name with a bracket":  {files: map[string]string{"[a]/go.mod": "", "[a]/a.go": ""}, want: "a= a="},
		"two names that are one": {files: map[string]string{"a b/go.mod": "", "a b/x.go": "", "a-b/go.mod": "", "a-b/x.go": ""}, want: "a-b=a b/** a-b=a b/** a-b-2=a-b/** a-b-2=a-b/**"},
		"packages of npm":        {files: map[string]string{"x/package.json": npm, "y/package.json": npm}, want: "x=x/** y=y/**"},
		"packages of a workspace": {
			files: map[string]string{"package.json": `{"workspaces":["p/*"]}`, "p/x/package.json": npm, "p/y/package.json": npm}, want: "p-x= p-y=",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var files, got []string
			for file := range c.files {
				files = append(files, file)
			}
			read := func(name string) ([]byte, error) {
				if text, ok := c.files[name]; ok {
					return []byte(text), nil
				}
				return nil, errors.New("no such file")
			}
			p := Of(files, read, Options{Whole: !c.clean})
			for _, g := range p.Gates {
				_, name, below := strings.Cut(strings.NewReplacer("go-build", "", "go-test", "", "npm-test", "").Replace(g.Name), "-")
				if !below {
					name = "."
				}
				got = append(got, name+"="+strings.Join(g.Paths, ","))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
			project := spec.Project{Gates: p.Gates}
			require.Empty(t, project.Validate())
			for _, g := range p.Gates {
				require.Contains(t, p.File(nil), "name: "+g.Name)
			}
		})
	}
}

func with(files map[string]string, name, text string) map[string]string {
	out := map[string]string{name: text}
	for had, text := range files {
		if had != name {
			out[had] = text
		}
	}
	return out
}
