package member

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"divisi/internal/usage"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// wall is a clock that stands still until it is set.
type wall struct{ now time.Time }

func (w *wall) clock() time.Time { return w.now }

func newWall() *wall { return &wall{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)} }

func newKey(t testing.TB) string {
	t.Helper()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	return public
}

func newRegistry(t *testing.T, w *wall) (*Registry, string) {
	t.Helper()
	dir := t.TempDir()
	r, err := Open(dir, w.clock)
	require.NoError(t, err)
	return r, dir
}

func TestARegistryOutlivesItsProcess(t *testing.T) {
	t.Parallel()
	w := newWall()
	r, dir := newRegistry(t, w)
	first, err := r.NewToken(Admission{Role: Worker})
	require.NoError(t, err)
	key := newKey(t)
	want, err := r.Admit(first.Secret, key, "w1")
	require.NoError(t, err)
	require.Equal(t, Member{Name: "w1", Role: Worker, Key: key, Joined: w.now}, want)
	second, err := r.NewToken(Admission{Role: Viewer, Name: "v1"})
	require.NoError(t, err)

	r, err = Open(dir, w.clock)
	require.NoError(t, err)
	require.Equal(t, []Member{want}, r.Members())
	_, err = r.Admit(first.Secret, newKey(t), "w2")
	require.ErrorIs(t, err, ErrToken, "a token that was used stays used")
	m, err := r.Admit(second.Secret, newKey(t), "")
	require.NoError(t, err, "a token that was not used stays")
	require.Equal(t, "v1", m.Name)
	require.Equal(t, Viewer, m.Role)

	info, err := os.Stat(filepath.Join(dir, registryFile))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	data, err := os.ReadFile(filepath.Join(dir, registryFile))
	require.NoError(t, err)
	require.NotContains(t, string(data), first.Secret)
	require.NotContains(t, string(data), second.Secret)
}

func TestATokenEnds(t *testing.T) {
	t.Parallel()
	w := newWall()
	r, _ := newRegistry(t, w)
	token, err := r.NewToken(Admission{Role: Person})
	require.NoError(t, err)
	w.now = w.now.Add(tokenLife - time.Second)
	_, ok := r.opens(token.Secret)
	require.True(t, ok)
	w.now = w.now.Add(time.Second)
	_, ok = r.opens(token.Secret)
	require.False(t, ok)
	_, err = r.Admit(token.Secret, newKey(t), "p1")
	require.ErrorIs(t, err, ErrToken)
	require.ErrorContains(t, err, "it ended at 2026-01-02T03:14:05Z")
	w.now = w.now.Add(tokenMemory + time.Second)
	_, err = r.NewToken(Admission{Role: Person})
	require.NoError(t, err)
	require.Len(t, r.entries.Tokens, 1, "an old one is forgotten")
}

func TestWhoIsNotAdmitted(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry(t, newWall())
	admit := func(given, key, name string) error {
		token, err := r.NewToken(Admission{Role: Worker, Name: given})
		require.NoError(t, err)
		_, err = r.Admit(token.Secret, key, name)
		return err
	}
	key := newKey(t)
	require.NoError(t, admit("", key, "w1"))
	require.NoError(t, admit("", key, "w1"), "the same key joins again")
	require.Len(t, r.Members(), 1)
	require.ErrorIs(t, admit("", newKey(t), "w1"), ErrName)
	require.ErrorContains(t, admit("", key, "w2"), "belongs to w1 already")
	require.ErrorContains(t, admit("w3", newKey(t), "w4"), "admits w3 alone")
	for _, name := range []string{"", "a.b", "a b", "*", ">", "ä", string(make([]byte, 65)), local} {
		require.ErrorIs(t, admit("", newKey(t), name), ErrName, name)
	}
	for _, key := range []string{"", "U", key[:20], "SUAIBDPBAUTWCWBKIO6XHQNINK5FWJW4OHLXC3HQ2KFE4PEJUA44CNHTC4"} {
		require.ErrorIs(t, admit("", key, "w9"), ErrToken, key)
	}
	_, err := r.NewToken(Admission{Role: Server})
	require.ErrorContains(t, err, "no token admits")
	_, err = r.NewToken(Admission{Role: Worker, Name: "a.b"})
	require.ErrorIs(t, err, ErrName)
	_, err = r.Remove("nothing")
	require.ErrorIs(t, err, ErrUnknown)
	m, err := r.Remove("w1")
	require.NoError(t, err)
	require.Equal(t, key, m.Key)
	require.Empty(t, r.Members())
}

func TestATokenAdmitsOneOfManyAtOnce(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry(t, newWall())
	token, err := r.NewToken(Admission{Role: Worker})
	require.NoError(t, err)
	var done sync.WaitGroup
	for i := range 8 {
		key := newKey(t)
		done.Go(func() { _, _ = r.Admit(token.Secret, key, fmt.Sprintf("w%d", i)) })
	}
	done.Wait()
	require.Len(t, r.Members(), 1)
}

func TestADamagedRegistry(t *testing.T) {
	t.Parallel()
	key := newKey(t)
	member := `{"name":"w1","role":"worker","key":"` + key + `","joined":"2026-01-02T03:04:05Z"}`
	for text, why := range map[string]string{
		`{"format":1,"memb`:        "damaged",
		`{"format":1} {}`:          "damaged",
		`{"format":1,"owners":[]}`: "damaged",
		`{"format":2}`:             "has the format 2",
		`{"format":1,"members":[` + member + `,` + member + `]}`:            "twice",
		`{"format":1,"members":[{"name":"a.b","role":"worker","key":"U"}]}`: "damaged",
		`{"format":1,"members":[{"name":"w1","role":"server","key":"U"}]}`:  "damaged",
		`{"format":1,"members":[{"name":"w1","role":"worker","key":"U"}]}`:  "damaged",
		`{"format":1,"tokens":[{"sha256":"00","role":"worker"}]}`:           "damaged",
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, registryFile)
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := Open(dir, time.Now)
		var mistake *usage.Error
		require.ErrorAs(t, err, &mistake, text)
		require.ErrorContains(t, err, path)
		require.ErrorContains(t, err, why, text)
	}
}

// TestNothingChangesThatIsNotWritten: an answer that is given is kept.
func TestNothingChangesThatIsNotWritten(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "members")
	r, err := Open(dir, newWall().clock)
	require.NoError(t, err)
	token, err := r.NewToken(Admission{Role: Worker})
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(dir))
	require.NoError(t, os.WriteFile(dir, nil, 0o600), "a file is where the directory was")
	_, err = r.Admit(token.Secret, newKey(t), "w1")
	require.Error(t, err)
	require.Empty(t, r.Members())
	require.NoError(t, os.Remove(dir))
	_, err = r.Admit(token.Secret, newKey(t), "w1")
	require.NoError(t, err, "the token was not used up")
}
