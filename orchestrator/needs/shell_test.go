package needs

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/run"
)

func TestTheLanguageOfTheShellIsTold(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		environ, seen []string
		want          string
	}{
		{[]string{"LANG=de_DE.UTF-8", "LC_TIME=fr_FR", "PATH=/bin"}, nil, "your LANG, LC_TIME; env: [LANG, LC_TIME] in"},
		{[]string{"LANG=de_DE.UTF-8", "LC_ALL=C.UTF-8"}, []string{"LANG"}, ""},
		{[]string{"LANG=", "LC_TERMINAL=iTerm2", "LC_TERMINAL_VERSION=3", "LCX=a"}, nil, ""},
		{nil, nil, ""},
	} {
		notes := languages(c.environ, c.seen)
		if c.want == "" {
			require.Empty(t, notes, "%q", c.environ)
			continue
		}
		require.Len(t, notes, 1)
		require.Contains(t, notes[0], c.want)
	}
}

// Managers are asked once, and commands have what they answered then.
func TestTheShellIsAskedOnce(t *testing.T) {
	t.Parallel()
	var s Shell
	first := s.Environ(t.Context(), &run.Spec{}, t.TempDir())
	require.NotEmpty(t, s.Search())
	require.Equal(t, &first[0], &s.Environ(t.Context(), &run.Spec{}, "elsewhere")[0])
}
