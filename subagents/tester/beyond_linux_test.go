package tester

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// On the base commit it is seen whether a gate with paths opens files that those of another gate name.
func TestWhatAGateReadsBeyondItsPaths(t *testing.T) {
	t.Parallel()
	imports := "cd b && python3 -c 'import m' && test -d __pycache__"
	both := spec.Gate{Name: "b", Command: []string{"true"}, Paths: []string{"b/**"}}
	for name, c := range map[string]struct {
		command    string
		paths      []string
		before     string
		elsewhere  bool
		regenerate []string
		want       string
	}{
		"its own files":           {command: "cat a/x top", paths: []string{"a/**"}},
		"those of another gate":   {command: "cat a/x b/x b/y", paths: []string{"a/**"}, want: "it opens b/x, b/y"},
		"that it names itself":    {command: "cat a/x b/x", paths: []string{"a/**", "b/x"}},
		"by another name":         {command: "ln b/y other && cat other", paths: []string{"a/**"}, want: "it opens b/y"},
		"no paths":                {command: "cat b/x"},
		"it is red":               {command: "cat a/x; exit 1", paths: []string{"a/**"}},
		"files are made":          {command: "true", paths: []string{"a/**"}, regenerate: []string{"make"}, want: "what setup or regenerate makes of tracked files may lie elsewhere"},
		"of a patch":              {command: "cat b/x", paths: []string{"a/**"}, elsewhere: true},
		"results of caches":       {command: `case "$GOFLAGS" in *-count=1*) cat b/x;; esac`, paths: []string{"a/**"}, want: "it opens b/x"},
		"compiled modules":        {command: "PYTHONPATH=b python3 -c 'import m'", paths: []string{"a/**"}, before: imports, want: "it opens b/m.py"},
		"other files than python": {command: "python3 -c 'import json'", paths: []string{"a/**"}, before: imports},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, blobs := t.TempDir(), map[string]string{}
			for _, name := range []string{"a/x", "b/x", "b/y", "b/m.py", "top"} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), nil, 0o600))
				blobs[name] = "1"
			}
			place := sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}
			env, err := sandbox.Env(sandbox.Settings{Base: os.Environ(), Home: place.Seen().Home, Temp: place.Seen().Temp})
			require.NoError(t, err)
			g := spec.Gate{Name: "a", Command: []string{"sh", "-c", c.command}, Paths: c.paths}
			x := &Executor{
				Assignment: &wire.Assignment{Base: !c.elsewhere, Project: spec.Project{Gates: []spec.Gate{g, both}, Regenerate: c.regenerate}},
				Dir:        dir, Limiter: gate.NewLimiter(1),
				Restore: func(context.Context) ([]string, error) { return nil, nil },
				Changed: func(context.Context, string) ([]string, error) { return nil, nil },
				Blobs:   func(context.Context) (map[string]string, error) { return blobs, nil },
			}
			where := gate.Where{Dir: dir, Env: env, Place: place}
			if c.before != "" {
				_, err := exec.LookPath("python3")
				if err != nil {
					t.Skip("it needs python3")
				}
				r, err := gate.Run(t.Context(), spec.Gate{Name: "b", Command: []string{"sh", "-c", c.before}}, where)
				require.NoError(t, err)
				require.Equal(t, spec.VerdictPass, r.Verdict, r.Tail)
			}
			r, _, err := x.run(t.Context(), g, where)
			require.NoError(t, err)
			require.Equal(t, c.want, r.Beyond, r.Tail)
		})
	}
}

// On the base commit it is seen whether a gate reads anything below .divisi, or may ask for a path of it.
func TestAGateApartFromDivisisOwnFiles(t *testing.T) {
	t.Parallel()
	const link = "a link"
	for name, c := range map[string]struct {
		command, has string
		reads        bool
	}{
		"others":                  {command: "cat top"},
		"the top":                 {command: "ls; ls -l"},
		"a script":                {command: "sh plain.sh"},
		"a file":                  {command: "cat .div*/roles/say.md", reads: true},
		"all names":               {command: "find . -name '*.md'", reads: true},
		"names of its directory":  {command: "ls .div*", reads: true},
		"names deeper":            {command: "ls .div*/roles", reads: true},
		"names by a glob":         {command: "echo .div*/*", reads: true},
		"one path":                {command: "test -e .divisi/x", reads: true},
		"one path, by a script":   {command: "sh ./asks.sh", reads: true},
		"what git keeps":          {command: "cat .git/index", reads: true},
		"more than regular files": {command: "cat top", has: link, reads: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, blobs := t.TempDir(), map[string]string{}
			for name, text := range map[string]string{
				"top": "", "plain.sh": "cat top", "asks.sh": "test -e .divisi/x || true",
				".divisi/roles/say.md": "", ".git/HEAD": "", ".git/index": "",
			} {
				require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700))
				require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
				blobs[name] = "1"
			}
			if c.has == link {
				require.NoError(t, os.Symlink("../top", filepath.Join(dir, ".divisi", "link")))
			}
			place := sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}
			env, err := sandbox.Env(sandbox.Settings{Base: os.Environ(), Home: place.Seen().Home, Temp: place.Seen().Temp})
			require.NoError(t, err)
			x := &Executor{
				Assignment: &wire.Assignment{Base: true}, Dir: dir,
				Restore: func(context.Context) ([]string, error) { return nil, nil },
				Blobs:   func(context.Context) (map[string]string, error) { return blobs, nil },
				Read:    func(_ context.Context, name string) ([]byte, error) { return os.ReadFile(filepath.Join(dir, name)) },
			}
			stale := false
			r, _, err := x.run(t.Context(), spec.Gate{Name: "a", Command: []string{"sh", "-c", c.command}}, gate.Where{
				Dir: dir, Env: env, Place: place, Stale: &stale,
			})
			require.NoError(t, err)
			require.Equal(t, c.reads, len(r.Unread) == 0, r.Tail)
		})
	}
}
