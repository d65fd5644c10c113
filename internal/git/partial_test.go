package git

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
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
	e := &PartialError{Top: "/src", Commit: "0123456789abcdef", Missing: []string{"x"}, Remote: "o", url: "https://me:secret@x/y"}
	require.NotContains(t, e.Error(), "secret")
	require.Contains(t, e.Error(), "git clone https://x/y")
}
