package member

import (
	"crypto/tls"
	"crypto/x509"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestCertificateIsKeptUntilItDoesNotServe(t *testing.T) {
	t.Parallel()
	w, dir := newWall(), t.TempDir()
	hosts := []string{"127.0.0.1", "build.example.org", "::1"}
	_, first, err := Certificate(dir, hosts, w.clock)
	require.NoError(t, err)
	info, err := os.Stat(filepath.Join(dir, certificateFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	_, again, err := Certificate(dir, hosts[:1], w.clock)
	require.NoError(t, err)
	require.Equal(t, first, again)
	_, other, err := Certificate(dir, []string{"other.example.org"}, w.clock)
	require.NoError(t, err)
	require.NotEqual(t, first, other, "a host was missing")
	w.now = w.now.Add(certificateLife)
	cert, ended, err := Certificate(dir, []string{"other.example.org"}, w.clock)
	require.NoError(t, err)
	require.NotEqual(t, other, ended, "it has ended")
	require.Equal(t, ended, Digest(cert))

	require.NoError(t, os.WriteFile(filepath.Join(dir, certificateFile), []byte("x"), 0o600))
	_, _, err = Certificate(dir, hosts, w.clock)
	require.ErrorContains(t, err, filepath.Join(dir, certificateFile)+" is damaged")
}

func TestPinned(t *testing.T) {
	t.Parallel()
	w := newWall()
	cert, digest, err := Certificate(t.TempDir(), []string{"127.0.0.1"}, w.clock)
	require.NoError(t, err)
	shown := tls.ConnectionState{PeerCertificates: []*x509.Certificate{cert.Leaf}}
	pinned := Pinned(digest, w.clock)
	require.NoError(t, pinned.VerifyConnection(shown))
	require.ErrorIs(t, pinned.VerifyConnection(tls.ConnectionState{}), ErrCertificate)
	require.ErrorIs(t, Pinned("x"+digest[1:], w.clock).VerifyConnection(shown), ErrCertificate)
	w.now = w.now.Add(certificateLife - time.Second)
	require.NoError(t, pinned.VerifyConnection(shown))
	w.now = w.now.Add(time.Second)
	require.ErrorIs(t, pinned.VerifyConnection(shown), ErrEnded)
}
