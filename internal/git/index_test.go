package git

import (
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inMemory are flags of entries that are not in the file.
var inMemory = regexp.MustCompile(`\tflags: [0-9a-f]+`)

// Of a shared index there is one without shared parts, with the same entries, whatever the later part replaces, removes and adds.
func TestWholeIndex(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		u := newCommitted(t, "--object-format="+format)
		for i := range 300 {
			u.write(fmt.Sprintf("d%d/f%d", i/50, i), fmt.Sprint(i))
		}
		u.commit("many")
		size := len(u.git("rev-parse", "HEAD")) / 2
		dir := filepath.Join(u.dir, ".git")
		file := filepath.Join(dir, "index")
		same := func(shared bool) {
			t.Helper()
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			require.Equal(t, shared, strings.Contains(string(data), "link"))
			data, err = wholeIndex(file, dir, size)
			require.NoError(t, err)
			require.NotContains(t, string(data), "link")
			other := filepath.Join(t.TempDir(), "index")
			require.NoError(t, os.WriteFile(other, data, 0o600))
			with := func(index string, args ...string) string {
				cmd := userCommand(t, u.dir, args...)
				cmd.Env = append(cmd.Env, "GIT_INDEX_FILE="+index)
				out, err := cmd.CombinedOutput()
				require.NoError(t, err, string(out))
				return inMemory.ReplaceAllString(string(out), "")
			}
			for _, args := range [][]string{{"ls-files", "--stage", "--debug", "-v"}, {"write-tree"}} {
				require.Equal(t, with(file, args...), with(other, args...))
			}
			require.Empty(t, with(other, "fsck", "--no-dangling"), "the sum at its end is right")
		}
		same(false)
		u.git("config", "core.splitIndex", "true")
		u.git("config", "splitIndex.maxPercentChange", "100")
		u.git("update-index", "--split-index")
		same(true)
		u.git("update-index", "--skip-worktree", "d0/f1", "d5/f299")
		same(true)
		u.write("d1/f60", "another length")
		u.write("0 first", "new")
		u.write("d1/"+strings.Repeat("long", 50), "new")
		u.write("z last", "new")
		u.git("rm", "-q", "-r", "d2", "d3/f150", "a.txt")
		u.git("add", "-A")
		same(true)
		u.git("rm", "-q", "-r", "d4")
		u.write("d4", "a file in the place of a directory")
		u.git("add", "-A")
		same(true)
		u.git("rm", "-q", "-r", "-f", "--sparse", ".")
		same(true)
	}
}

// What is no index of git is an error, wherever it ends.
func TestWholeIndexRefusesWhatIsNone(t *testing.T) {
	t.Parallel()
	u := newCommitted(t)
	u.git("update-index", "--split-index")
	u.write("new", "new")
	u.git("add", "new")
	dir := filepath.Join(u.dir, ".git")
	data, err := os.ReadFile(filepath.Join(dir, "index"))
	require.NoError(t, err)
	other := filepath.Join(t.TempDir(), "index")
	for end := range data {
		require.NoError(t, os.WriteFile(other, data[:end], 0o600))
		_, _ = wholeIndex(other, dir, 20)
	}
	binary.BigEndian.PutUint32(data[4:], 4)
	require.NoError(t, os.WriteFile(other, data, 0o600))
	_, err = wholeIndex(other, dir, 20)
	require.ErrorIs(t, err, errIndex)
}
