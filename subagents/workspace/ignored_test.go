package workspace_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A virtual environment counts as ignored whatever the lists of the repository say; what lies beside it does not.
func TestVirtualEnvironmentsAreIgnored(t *testing.T) {
	t.Parallel()
	b := newBundle(t, map[string]string{"a.py": "a\n"})
	s := b.slot(t)
	for _, name := range []string{".venv/pyvenv.cfg", ".venv/lib/b.py", "sub/env/pyvenv.cfg", "sub/c.py"} {
		write(t, filepath.Join(s.Dir(), name), "x\n")
	}
	ignored, gone, err := s.Ignored(t.Context(), b.base)
	require.NoError(t, err)
	require.Equal(t, []string{".venv", "sub/env"}, ignored)
	require.Equal(t, []string{"sub/c.py"}, gone)
}
