package configs

import (
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestPolicyFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), PolicyFile)
	_, err := Policy(file)
	require.ErrorIs(t, err, fs.ErrNotExist)
	write := func(text string, mode os.FileMode) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chmod(file, mode))
	}
	write("network: [\"*\"]\nlimits: {memory_mib: 512}\n", 0o600)
	p, err := Policy(file)
	require.NoError(t, err)
	require.Equal(t, &spec.Policy{Network: []string{"*"}, Limits: spec.PolicyLimits{MemoryMiB: 512}}, p)
	write("", 0o400)
	p, err = Policy(file)
	require.NoError(t, err)
	require.Equal(t, &spec.Policy{}, p, "an empty file permits what none does")
	for want, text := range map[string]string{
		":2:1: unknown field \"networks\"":                        "only: gates\nnetworks: [a]\n",
		":1:11: \"a:1\": it is no name":                           "network: [\"a:1\"]\n",
		":1:10: sandbox \"none\" is not one of strict, available": "sandbox: none\n",
		"is not UTF-8":              "only: \xff\n",
		":1:9: a limit is negative": "limits: {memory_mib: -1}\n",
	} {
		write(text, 0o600)
		_, err = Policy(file)
		require.ErrorContains(t, err, want)
	}
	for _, mode := range []os.FileMode{0o440, 0o640} { // what root has given to a group
		write("only: gates\n", mode)
		_, err = Policy(file)
		if os.Geteuid() == 0 {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, "other users can read or change it")
		}
	}
	for _, mode := range []os.FileMode{0o604, 0o620, 0o660, 0o444} {
		write("only: gates\n", mode)
		_, err = Policy(file)
		require.ErrorContains(t, err, "other users can read or change it")
	}
	require.NoError(t, os.Remove(file))
	require.NoError(t, os.Mkdir(file, 0o700))
	_, err = Policy(file)
	require.ErrorContains(t, err, "it is a directory")
}
