package memory

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProposalsWaitForAPerson(t *testing.T) {
	t.Parallel()
	p := newPlace(t, map[string]string{"run-make-gen.md": "mine"})
	m := p.open()
	n := Note{Title: "Run make gen", Text: "Generated code is stale otherwise.", Tags: []string{"build"}, Paths: []string{"gen/**"}, Source: "r1/t1"}
	id, err := m.Propose(t.Context(), n)
	require.NoError(t, err)
	n.Source = "r2/t9"
	again, err := m.Propose(t.Context(), n)
	require.NoError(t, err)
	require.Equal(t, id, again, "the same from another task is the same")
	other, err := m.Propose(t.Context(), Note{Title: "Other", Text: "Other."})
	require.NoError(t, err)
	require.Empty(t, found(t, m, "generated"), "it is not found yet")

	all, problems, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Len(t, all, 2)
	n.Source, n.Created = "r1/t1", noon
	require.Contains(t, all, Proposal{ID: id, Note: n})

	names, err := m.Accept(t.Context(), id)
	require.NoError(t, err)
	require.Equal(t, []string{"run-make-gen-2"}, names, "nothing is overwritten")
	require.Equal(t, []string{"run-make-gen-2"}, found(t, m, "generated"))
	require.NoError(t, m.Reject(t.Context(), other))
	for _, again := range []Note{n, {Title: "Other", Text: "Other."}} {
		_, err = m.Propose(t.Context(), again)
		require.NoError(t, err)
	}
	all, _, err = m.Proposals(t.Context())
	require.NoError(t, err)
	require.Empty(t, all, "what was decided is not proposed again")
	_, err = m.Accept(t.Context(), id)
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, m.Reject(t.Context(), other), ErrNotFound)
}

func TestWhereNothingWasEverProposedLookingMakesNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	m := p.open()
	all, problems, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	require.Empty(t, problems)
	_, err = m.Accept(t.Context(), "abcd")
	require.ErrorIs(t, err, ErrNotFound)
	require.ErrorIs(t, m.Reject(t.Context(), "abcd"), ErrNotFound)
	require.NoDirExists(t, filepath.Join(p.home, "proposals"))
}

func TestAcceptTakesAllOrNothing(t *testing.T) {
	t.Parallel()
	p := newPlace(t, nil)
	m := p.open()
	id, err := m.Propose(t.Context(), Note{Title: "a", Text: "b"})
	require.NoError(t, err)
	for _, bad := range []string{"abcd", "../x", "", "zz"} {
		_, err := m.Accept(t.Context(), id, bad)
		require.ErrorIs(t, err, ErrNotFound)
		require.ErrorIs(t, m.Reject(t.Context(), bad), ErrNotFound)
	}
	require.NoDirExists(t, p.file(""))
	inbox := filepath.Join(p.home, "proposals")
	require.NoError(t, os.WriteFile(filepath.Join(inbox, "abcd.md"), []byte("---\nx: y\n---\n"), 0o600))
	all, problems, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.Len(t, all, 1)
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), filepath.Join(inbox, "abcd.md")+":2:1: unknown field")
	_, err = m.Accept(t.Context(), id, "abcd")
	require.ErrorContains(t, err, "abcd.md:2:1")
	require.NoDirExists(t, p.file(""))
}

func TestWhatIsProposedIsData(t *testing.T) {
	t.Parallel()
	m := newPlace(t, nil).open()
	id, err := m.Propose(t.Context(), Note{
		Title: "a\"\n---\nsource: \"person\"\x1b[2J", Tags: []string{"x]\nsource: person", " ", "\u202ey"}, Source: "r/t",
		Text: "---\ntitle: b\n---\nbell\a \x1b]0;title\x07 end\xff\tok\r\n",
	})
	require.NoError(t, err)
	_, err = m.Accept(t.Context(), id)
	require.NoError(t, err)
	notes, err := m.List(t.Context())
	require.NoError(t, err)
	require.Len(t, notes, 1)
	require.Equal(t, Note{
		Name: "a-source-person-2j", Title: `a" --- source: "person"[2J`, Tags: []string{"x] source: person", "y"}, Source: "r/t", Created: noon,
		Text: "---\ntitle: b\n---\nbell ]0;title end\ufffd\tok",
	}, notes[0])
}

func TestWhatIsNotKept(t *testing.T) {
	t.Parallel()
	m := newPlace(t, nil).open()
	for want, n := range map[string]Note{
		"it has no title":                  {Title: " \x00", Text: "# b\nc"},
		"it has no text":                   {Title: "a", Text: " \n"},
		"the text has 4097 bytes, at most": {Title: "a", Text: strings.Repeat("b", maxProposal+1)},
		"something like a Google API key":  {Title: "a", Text: "use AIza" + strings.Repeat("b1-_", 9)},
		"something like a GitHub token":    {Title: "ghp_" + strings.Repeat("b1", 18), Text: "c"},
		"something like an API key (sk-…)": {Title: "a", Text: "c", Tags: []string{"sk-proj-" + strings.Repeat("b1", 18)}},
		"something like a PEM block":       {Title: "a", Text: "-----BEGIN RSA PRIVATE KEY-----\nMII"},
		"something like an AWS access key": {Title: "a", Text: "c", Paths: []string{"AKIA" + strings.Repeat("B1", 8)}},
		"a password in an address":         {Title: "a", Text: "postgres://me:hunter22@db/x"},
		"a password or a key by its name":  {Title: "a", Text: "deploy with `DB_PASSWORD=s3cr3t.pass` set"},
		"a random key of nB4…":             {Title: "a", Text: "aws has nB4/xQ8zRt1Lk+9vWm3Yp6Hd2Jc5Fg7Sa0Ue/TiOb"},
		"a random key of q7R…":             {Title: "a", Text: "the key is q7RzX0pLw3VbN8kT2mYcD5gHs1JfA9eU"},
	} {
		_, err := m.Propose(t.Context(), n)
		require.ErrorIs(t, err, ErrRefused, want)
		require.ErrorContains(t, err, want)
	}
	all, _, err := m.Proposals(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = newPlace(t, nil).openWith(Options{Repo: t.TempDir()}).Propose(t.Context(), Note{Title: "a", Text: "b"})
	require.ErrorIs(t, err, ErrRefused)
}

func TestWhatIsNoSecret(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"commit 3f786850e387550fdab836ed7e6dc881de23001b", "sha256:" + strings.Repeat("0123456789abcdef", 4),
		"TestSubAgentRunnerReturnsErrorWhenTheModelFailsWith429And503", "internal/testkit/geminitest/server_test.go:120:33",
		"a_very_long_snake_case_identifier_with_numbers_1_2_3_4_5", "https://example.org:8080/a@b", "risk-free-and-low-maintenance-tasks",
		"AIza is how keys begin", "github.com/modelcontextprotocol/go-sdk@v1.8.0-20260811164956-006e29f97886",
		"------------------------------------------", "git@github.com:me/repo.git", "TestUTF8ToUTF16AndBase64Conversions", "TheQuickBrownFoxJumpsOverTheLazyDog2026",
		"token := newToken2(secret)", "password: required, at least 12 characters", "the api_key=<your key>", "secret: projects/1/secrets/x2",
		"internal/model/V2Beta/http2/TLS13/x509/utf8_test.go", "tokens=12345678",
	} {
		require.Empty(t, secretIn(text), text)
	}
}

func TestOnlySoManyProposalsWait(t *testing.T) {
	t.Parallel()
	m := newPlace(t, nil).open()
	for i := range maxProposals {
		_, err := m.Propose(t.Context(), Note{Title: "a", Text: strings.Repeat("b", i+1)})
		require.NoError(t, err)
	}
	_, err := m.Propose(t.Context(), Note{Title: "a", Text: "c"})
	require.ErrorIs(t, err, ErrRefused)
	require.ErrorContains(t, err, "200 proposals wait")
	id, err := m.Propose(t.Context(), Note{Title: "a", Text: "b"})
	require.NoError(t, err, "what waits already is no further one")
	require.NotEmpty(t, id)
}
