package each

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestEmbed(t *testing.T) {
	t.Parallel()
	top, out := t.TempDir(), t.TempDir()
	write := func(dir, text string) string {
		at := filepath.Join(dir, "fix")
		require.NoError(t, os.WriteFile(at, []byte(text), 0o700))
		return at
	}
	for _, tc := range []struct {
		name, dir, text string
		want            []string // before the files
	}{
		{"shell", out, "#!/bin/sh -e\necho $1", []string{"/bin/sh", "-e", "-c", "#!/bin/sh -e\necho $1", "fix"}},
		{"python", out, "#!/usr/bin/env python3\nprint()", []string{"python3", "-c", "#!/usr/bin/env python3\nprint()"}},
		{"node", out, "#!/usr/bin/env node\nx()", []string{"node", "-e", "#!/usr/bin/env node\nx()", "--", "fix"}},
		{"no script", out, "\x7fELF", nil},
		{"of the repository", top, "#!/bin/sh\n", nil},
	} {
		at := write(tc.dir, tc.text)
		got, err := embed([]string{at, "{files}"}, top)
		require.NoError(t, err, tc.name)
		switch {
		case tc.dir == top:
			tc.want = []string{"./fix"}
		case tc.want == nil:
			tc.want = []string{at}
		}
		require.Equal(t, append(tc.want, "{files}"), got, tc.name)
	}
	got, err := embed([]string{"sed", "{files}"}, top)
	require.NoError(t, err)
	require.Equal(t, []string{"sed", "{files}"}, got)
}
