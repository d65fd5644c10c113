package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/text"
)

func TestPromisor(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config, want, from string
	}{
		"none":          {"[remote \"origin\"]\n\turl = https://x/y\n", "", ""},
		"a remote":      {"[remote \"Up.x\"]\n\tpromisor\n\turl = https://x/y\n", "Up.x", "https://x/y"},
		"not":           {"[remote \"origin\"]\n\tpromisor = no\n\turl = https://x/y\n", "", ""},
		"the extension": {"[extensions]\n\tpartialClone = b\n[remote \"b\"]\n\turl = git@host:y\n", "b", "git@host:y"},
		"a path":        {"[remote \"o\"]\n\tpromisor = true\n\turl = ../a:b\n", "o", "/src/a:b"},
		"no address":    {"[remote \"o\"]\n\tpromisor = true\n", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			u := newUser(t)
			u.write(".git/config", c.config)
			dir := filepath.Join(u.dir, ".git")
			s, err := newGit(t).repoSettings(t.Context(), layout{u.dir, dir, dir})
			require.NoError(t, err)
			p := s.promisor()
			require.Equal(t, c.want, p.name)
			if c.want != "" {
				require.Equal(t, c.from, p.from("/src/top"))
			}
		})
	}
}

func TestPartialErrorHidesPasswords(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"https://me:secret@x/y":     "https://x/y",
		"https://secret@x/y":        "https://x/y",
		"https://me:se%cret@x/y@z":  "https://x/y@z", // which is no URL to net/url
		"ssh://git@x/y":             "ssh://git@x/y",
		"ssh://git:secret@x:22/y":   "ssh://x:22/y",
		"git@x:y":                   "git@x:y",
		"/src/a@b":                  "/src/a@b",
		"file:///src/a@b":           "file:///src/a@b",
		"https://me:s@cr:et@x/y?z@": "https://x/y?z@",
	} {
		e := &PartialError{Top: "/src", Commit: "0123456789abcdef", Missing: []string{"x"}, Remote: "o", url: url}
		require.Equal(t, want, e.URL())
		require.NotContains(t, e.Error(), "cret")
		require.Contains(t, e.Error(), "git clone "+text.Shell(want))
	}
}
