package environment

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

func receiver(t *testing.T) *Store {
	t.Helper()
	s := NewStore(filepath.Join(t.TempDir(), "environments"), os.RemoveAll, time.Now)
	t.Cleanup(s.Close)
	return s
}

// sent is an environment as it is sent.
func sent(t *testing.T) (*Environment, []byte) {
	t.Helper()
	root := checkout(t, map[string]string{
		"web/modules/a/index.js": "a\n", "web/modules/bin": "->a/index.js", "one.cfg": "one\n", "web/modules/.npmrc": "secret\n",
	})
	require.NoError(t, os.Chmod(filepath.Join(root.Name(), "web/modules/a/index.js"), 0o755))
	s := receiver(t)
	recipe := Recipe{System: runtime.GOOS, Arch: runtime.GOARCH, Level: "full"}
	e, _, err := s.FromCheckout(t.Context(), recipe, root, []string{"web/modules", "one.cfg"}, func() {})
	require.NoError(t, err)
	var out bytes.Buffer
	require.NoError(t, e.Send(t.Context(), &out))
	require.NotContains(t, out.String(), "secret")
	return e, out.Bytes()
}

func TestAnEnvironmentIsReceivedAsItWasSent(t *testing.T) {
	t.Parallel()
	e, data := sent(t)
	var again bytes.Buffer
	require.NoError(t, e.Send(t.Context(), &again))
	require.Equal(t, data, again.Bytes(), "it has one name")
	s := receiver(t)
	got, err := s.Receive(t.Context(), e.ID, "", bytes.NewReader(data), func() {})
	require.NoError(t, err)
	require.Equal(t, e.Content, got.Content)
	require.Equal(t, e.Digest, got.Digest)
	require.Equal(t, e.Places, got.Places)
	require.Equal(t, e.Files, got.Files)
	require.Equal(t, e.Entries, got.Entries)
	require.Equal(t, listing(t, e), listing(t, got))
	require.NoError(t, got.check(true))
	_, err = s.Receive(t.Context(), e.ID, e.Content, io.MultiReader(bytes.NewReader(data[:4096]), iotest.ErrReader(errors.New("read"))), nil)
	require.NoError(t, err, "it is there")
	_, err = receiver(t).Receive(t.Context(), e.ID, "sha256:0", bytes.NewReader(data), func() {})
	require.ErrorIs(t, err, ErrReceived)
	end := io.MultiReader(bytes.NewReader(data), iotest.ErrReader(errors.New("another digest")))
	_, err = receiver(t).Receive(t.Context(), e.ID, e.Content, end, func() {})
	require.ErrorContains(t, err, "another digest")
}

func TestWhatIsNotWhatWasSentIsRefused(t *testing.T) {
	t.Parallel()
	e, data := sent(t)
	manifest := func(change func(*Manifest)) []byte {
		m := *e
		change(&m.Manifest)
		var out bytes.Buffer
		require.NoError(t, m.Send(t.Context(), &out))
		return out.Bytes()
	}
	for want, harm := range map[string][]byte{
		"it does not begin with a manifest": []byte("PACK"),
		"unexpected EOF":                    data[:len(data)/2],
		"its files are not those":           bytes.Replace(data, []byte("one\n"), []byte("two\n"), 1),
		"is of environment":                 manifest(func(m *Manifest) { m.ID = "0123456789abcdef0123456789abcdef" }),
		"it was made by a setup":            manifest(func(m *Manifest) { m.Downloads = []string{"../x"} }),
		`the path "../x"`:                   manifest(func(m *Manifest) { m.Places = []string{"../x"} }),
		`it lacks "none"`:                   manifest(func(m *Manifest) { m.Files = []string{"none"} }),
		"its files are not those of":        manifest(func(m *Manifest) { m.Content = "sha256:0" }),
	} {
		s := receiver(t)
		_, err := s.Receive(t.Context(), e.ID, "", bytes.NewReader(harm), func() {})
		require.ErrorContains(t, err, want)
		_, err = s.Open(e.ID)
		require.ErrorIs(t, err, ErrNone)
		require.NoDirExists(t, filepath.Join(s.dir, e.ID))
	}
}

// What comes writes only where environments have something.
func TestATarThatLeavesItsPlace(t *testing.T) {
	t.Parallel()
	for want, headers := range map[string][]tar.Header{
		`"../x" is no place`:        {{Name: "../x", Typeflag: tar.TypeReg}},
		`"/etc/x" is no place`:      {{Name: "/etc/x", Typeflag: tar.TypeReg}},
		`"content" is no place`:     {{Name: "content", Typeflag: tar.TypeReg}},
		`"tree/../x" is no place`:   {{Name: "tree/../x", Typeflag: tar.TypeReg}},
		"x\" is neither a file nor": {{Name: "tree/x", Typeflag: tar.TypeChar}},
		"path escapes from parent":  {{Name: "tree/a", Typeflag: tar.TypeSymlink, Linkname: "../../.."}, {Name: "tree/a/x", Typeflag: tar.TypeReg}},
		"hard\" is neither a file":  {{Name: "tree/hard", Typeflag: tar.TypeLink, Linkname: "/etc/passwd"}},
		"receive \"tree/a\" of":     {{Name: "tree/a", Typeflag: tar.TypeDir}, {Name: "tree/a", Typeflag: tar.TypeReg}},
	} {
		dir := filepath.Join(t.TempDir(), "one")
		m := &Making{Dir: dir}
		require.NoError(t, m.begin())
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		for i := range headers {
			require.NoError(t, w.WriteHeader(&headers[i]))
		}
		require.NoError(t, w.Close())
		err := m.receive(t.Context(), tar.NewReader(&out), &Manifest{})
		require.ErrorContains(t, err, want)
		above, err := os.ReadDir(filepath.Dir(dir))
		require.NoError(t, err)
		require.Len(t, above, 1)
	}
}

// Parents of what is laid into a work tree are directories of the environment: by a link there a worker would copy what only it can
// read.
func TestWhatLiesBelowALinkIsNotReceived(t *testing.T) {
	t.Parallel()
	for _, sent := range []Manifest{{Files: []string{"a/environ"}}, {Places: []string{"a/task"}}, {Places: []string{"a"}}} {
		m := &Making{Dir: filepath.Join(t.TempDir(), "one")}
		require.NoError(t, m.begin())
		var out bytes.Buffer
		w := tar.NewWriter(&out)
		require.NoError(t, w.WriteHeader(&tar.Header{Name: "tree/a", Typeflag: tar.TypeSymlink, Linkname: "/proc/self"}))
		require.NoError(t, w.Close())
		require.ErrorContains(t, m.receive(t.Context(), tar.NewReader(&out), &sent), "it lacks")
	}
}
