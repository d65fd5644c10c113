package member

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
)

func TestLogin(t *testing.T) {
	t.Parallel()
	want, err := NewLogin(aToken(), "w1")
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "made", "login.json")
	require.NoError(t, want.Write(path))
	info, err := os.Stat(path)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	got, err := ReadLogin(path)
	require.NoError(t, err)
	require.Equal(t, want, got)

	key, err := got.Key()
	require.NoError(t, err)
	signed, err := got.Sign([]byte("nonce"))
	require.NoError(t, err)
	public, err := nkeys.FromPublicKey(key)
	require.NoError(t, err)
	require.NoError(t, public.Verify([]byte("nonce"), signed))
}

func TestALoginThatIsNotRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "login.json")
	_, err := ReadLogin(path)
	require.ErrorIs(t, err, os.ErrNotExist)
	l, err := NewLogin(aToken(), "w1")
	require.NoError(t, err)
	require.NoError(t, l.Write(path))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for _, mode := range []os.FileMode{0o640, 0o604, 0o644} {
		require.NoError(t, os.Chmod(path, mode))
		_, err = ReadLogin(path)
		require.ErrorContains(t, err, "others can read it")
		require.ErrorContains(t, err, "chmod 600 "+path)
	}
	require.NoError(t, os.Chmod(path, 0o600))
	for _, text := range []string{
		"", string(whole[:40]), strings.Replace(string(whole), l.Seed, "SU", 1), strings.Replace(string(whole), "worker", "server", 1),
		strings.Replace(string(whole), l.Certificate, "0a", 1), strings.Replace(string(whole), "tls:", "nats:", 1),
		strings.Replace(string(whole), `"w1"`, `"a.b"`, 1),
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err = ReadLogin(path)
		require.ErrorContains(t, err, path+" is damaged", text)
	}
}
