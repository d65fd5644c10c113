package host

import (
	"crypto/ed25519"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/orchestrator/call"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// What is kept of a repository is found by who signed the run, where the history begins and its name; nothing of it is as the
// order says, and who resumes a run finds the same.
func TestWhatIsKeptHasANameThatTheHostMakes(t *testing.T) {
	t.Parallel()
	ada, bob := &wire.Warrant{Person: "ada", Key: "UA"}, &wire.Warrant{Person: "bob", Key: "UB"}
	first, second := []string{strings.Repeat("1", 40)}, []string{strings.Repeat("2", 40)}
	named := func(w *wire.Warrant, roots []string, repo, base string) string {
		o := &depot.Order{Warrant: w, Roots: roots, Named: "c0ffee"}
		o.Spec.Repo, o.Spec.Base = repo, strings.Repeat(base, 40)
		return o.Caches()
	}
	one := named(ada, first, "/home/ada/app", "a")
	require.Equal(t, one, named(ada, first, "/src/app", "b"), "the same repository at another place, and another commit")
	seen := map[string]string{one: "the first"}
	for what, name := range map[string]string{
		"another person":                     named(bob, first, "/home/ada/app", "a"),
		"no person":                          named(nil, first, "/home/ada/app", "a"),
		"the person's name with another key": named(&wire.Warrant{Person: "ada", Key: "UB"}, first, "/home/ada/app", "a"),
		"another history":                    named(ada, second, "/home/ada/app", "a"),
		"two histories in one":               named(ada, append(second, first...), "/home/ada/app", "a"),
		"another name":                       named(ada, first, "/home/ada/app-2", "a"),
		"an order of an earlier version":     named(ada, nil, "/home/ada/app", "a"),
		"another one of its commits":         named(ada, nil, "/home/ada/app", "b"),
	} {
		require.Empty(t, seen[name], what)
		seen[name] = what
		require.True(t, bus.ValidToken(name))
	}
}

// Before a run is submitted, a member is told what the host keeps for itself, and not for another member whose key it names.
func TestAMemberIsToldWhatIsKeptForItself(t *testing.T) {
	t.Parallel()
	registry, err := member.Open(t.TempDir(), depot.Now)
	require.NoError(t, err)
	logins := map[string]*member.Login{}
	for _, name := range []string{"ada", "bob"} {
		token, err := registry.NewToken(member.Admission{Role: member.Person})
		require.NoError(t, err)
		logins[name], err = member.NewLogin(token, name)
		require.NoError(t, err)
		key, err := logins[name].Key()
		require.NoError(t, err)
		_, err = registry.Admit(token.Secret, key, name)
		require.NoError(t, err)
	}
	h := &Host{o: Options{Members: registry}}
	q := func(name string) *call.Having {
		key, err := logins[name].Key()
		require.NoError(t, err)
		id := strings.Repeat("a", 40)
		return &call.Having{Commit: id, Base: id, Name: "app", Roots: []string{id}, Warrant: &wire.Warrant{Person: name, Key: key}}
	}
	told, err := h.submits(q("ada"), "ada")
	require.NoError(t, err)
	o := &depot.Order{Warrant: q("ada").Warrant, Roots: q("ada").Roots}
	o.Spec.Repo, o.Spec.Base = "/home/ada/app", q("ada").Base
	require.Equal(t, o.Caches(), told)
	stolen := q("bob")
	stolen.Warrant.Person = "ada"
	for what, c := range map[string]*call.Having{"of another": q("bob"), "another's key": stolen, "none": {Commit: o.Spec.Base, Base: o.Spec.Base}} {
		_, err := h.submits(c, "ada")
		require.ErrorContains(t, err, "ada does not say with which key of its own", what)
	}
	bad := q("ada")
	bad.Roots = []string{"../x"}
	_, err = h.submits(bad, "ada")
	require.ErrorContains(t, err, `begins with "../x"`)
}

// Workers elsewhere are not told where the checkout lies on the machine that conducts the run: two machines have other
// repositories at the same place, and one repository at two.
func TestWorkersAreToldOfTheRepositoryAndNotOfItsPlace(t *testing.T) {
	t.Parallel()
	one, two := newApart(t), newApart(t)
	told := func(a *apart, elsewhere bool) string {
		h, stop := a.conduct("r1")
		defer stop()
		defer h.Mirror.Close()
		h.Signs = make(ed25519.PrivateKey, ed25519.PrivateKeySize)
		h.Elsewhere, h.Caches, h.Spec.Repo = elsewhere, "/state/caches/0123456789abcdef", "/src/app"
		name, err := h.Seal(t.Context(), &run.State{})
		require.NoError(t, err)
		s, err := wire.UnsealSetup(t.Context(), a.bus, "r1", name)
		require.NoError(t, err)
		return s.Caches
	}
	one.commit("a.txt", "one\n")
	two.commit("b.txt", "two\n")
	require.Equal(t, "0123456789abcdef", told(one, false), "the half beside it has the same caches")
	first := told(one, true)
	require.NotEqual(t, first, told(two, true))
	require.NoError(t, os.RemoveAll(filepath.Join(one.dir, "conduct")))
	one.commit("c.txt", "three\n")
	require.Equal(t, first, told(one, true), "a later commit")
}
