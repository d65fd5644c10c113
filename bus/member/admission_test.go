package member

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A token for many admits as many as it says, within its time, each with its tags; a process that restarts knows what is left.
func TestATokenForMany(t *testing.T) {
	t.Parallel()
	w := newWall()
	r, dir := newRegistry(t, w)
	token, err := r.NewToken(Admission{Role: Worker, Uses: 3, Life: time.Hour, Tags: []string{"ci"}})
	require.NoError(t, err)
	w.now = w.now.Add(time.Hour - time.Second)
	m, err := r.Admit(token.Secret, newKey(t), "w1")
	require.NoError(t, err)
	require.Equal(t, []string{"ci"}, m.Tags)
	_, err = r.Admit(token.Secret, newKey(t), "w1")
	require.ErrorIs(t, err, ErrName, "a refused name uses nothing up")
	r, err = Open(dir, w.clock)
	require.NoError(t, err)
	open := r.Tokens()
	require.Len(t, open, 1)
	require.Equal(t, 2, open[0].Uses)
	for _, name := range []string{"w2", "w3"} {
		_, err = r.Admit(token.Secret, newKey(t), name)
		require.NoError(t, err)
	}
	_, err = r.Admit(token.Secret, newKey(t), "w4")
	require.ErrorIs(t, err, ErrToken)
	require.Empty(t, r.Tokens())

	token, err = r.NewToken(Admission{Role: Worker, Uses: 3, Life: time.Hour})
	require.NoError(t, err)
	require.NoError(t, r.Cancel(r.Tokens()[0].ID))
	_, err = r.Admit(token.Secret, newKey(t), "w5")
	require.ErrorIs(t, err, ErrToken)
	require.ErrorIs(t, r.Cancel("token:x"), ErrUnknown)
	token, err = r.NewToken(Admission{Role: Worker, Uses: 3, Life: time.Hour})
	require.NoError(t, err)
	w.now = w.now.Add(time.Hour)
	require.Empty(t, r.Tokens())
	_, err = r.Admit(token.Secret, newKey(t), "w5")
	require.ErrorContains(t, err, "it ended at")
}

// Another key for a member: the one before is good until the token is used.
func TestAMemberGetsAnotherKey(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry(t, newWall())
	token, err := r.NewToken(Admission{Role: Worker, Name: "w1", Tags: []string{"big"}})
	require.NoError(t, err)
	before, after := newKey(t), newKey(t)
	_, err = r.Admit(token.Secret, before, "")
	require.NoError(t, err)
	_, err = r.NewToken(Admission{Name: "w2", Replaces: true})
	require.ErrorIs(t, err, ErrUnknown)
	token, err = r.NewToken(Admission{Name: "w1", Replaces: true, Role: Person, Tags: []string{"other"}})
	require.NoError(t, err)
	require.Equal(t, Worker, token.Role)
	_, ok := r.ByKey(before)
	require.True(t, ok)
	_, err = r.Admit(token.Secret, after, "w2")
	require.ErrorIs(t, err, ErrName)
	m, err := r.Admit(token.Secret, after, "")
	require.NoError(t, err)
	require.Equal(t, before, m.Before())
	require.Equal(t, Worker, m.Role, "what it may do does not change")
	require.Equal(t, []string{"big"}, m.Tags)
	_, ok = r.ByKey(before)
	require.False(t, ok)
	require.Len(t, r.Members(), 1)

	// Outstanding tokens end with another one, with their use, and with the member.
	first, err := r.NewToken(Admission{Name: "w1", Replaces: true})
	require.NoError(t, err)
	second, err := r.NewToken(Admission{Name: "w1", Replaces: true})
	require.NoError(t, err)
	_, err = r.Admit(first.Secret, newKey(t), "")
	require.ErrorIs(t, err, ErrToken)
	_, err = r.Remove("w1")
	require.NoError(t, err)
	_, err = r.Admit(second.Secret, newKey(t), "")
	require.ErrorIs(t, err, ErrToken)
	require.Empty(t, r.Members())
	other, err := r.NewToken(Admission{Role: Viewer, Name: "w1"})
	require.NoError(t, err)
	_, err = r.Admit(other.Secret, newKey(t), "")
	require.NoError(t, err)

	text := Token{URL: "tls://h:1", Certificate: aToken().Certificate, Secret: token.Secret, Role: Viewer, Replaces: true}
	got, err := ParseToken(text.String())
	require.NoError(t, err)
	require.Equal(t, text, got)
}

func TestWhatNoTokenAdmits(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry(t, newWall())
	for want, a := range map[string]Admission{
		"no token admits a member of the role":    {Role: Server},
		"1 to 1000 members":                       {Role: Worker, Uses: 1001},
		"1 to 1000 members, not -1":               {Role: Worker, Uses: -1},
		"cannot have one name":                    {Role: Worker, Uses: 2, Name: "w1"},
		"lives at most 720h0m0s":                  {Role: Worker, Life: maxLife + 1},
		"tags are for workers":                    {Role: Person, Tags: []string{"a"}},
		`"a.b" is no tag`:                         {Role: Worker, Tags: []string{"a.b"}},
		"at most 20 tags":                         {Role: Worker, Tags: make([]string, 21)},
		"the name of a member has letters, digit": {Role: Worker, Name: "a.b"},
		"operator does not name a member":         {Role: Person, Name: "operator"},
	} {
		_, err := r.NewToken(a)
		require.ErrorContains(t, err, want)
	}
	require.Empty(t, r.Tokens())
	token, err := r.NewToken(Admission{Role: Person})
	require.NoError(t, err)
	for _, name := range []string{"operator", "unknown", JoinUser, local} {
		_, err = r.Admit(token.Secret, newKey(t), name)
		require.ErrorIs(t, err, ErrName, name)
	}
}

// A name that people, or a command, would take for another is refused when it is given; a member of before that has it keeps it,
// and gets another key under it.
func TestNamesThatStandForAnother(t *testing.T) {
	t.Parallel()
	r, _ := newRegistry(t, newWall())
	had := []Member{
		{Name: "Ada", Role: Person, Key: newKey(t)},
		{Name: "-x", Role: Worker, Key: newKey(t)},
		{Name: "conductor", Role: Worker, Key: newKey(t)},
		{Name: "ada", Role: Person, Key: newKey(t)},
	}
	require.NoError(t, r.change(func(e *entries) error { e.Members = slices.Clone(had); return nil }))
	for name, why := range map[string]string{
		"ADA": "people would take ADA for it", "Conductor": "does not name a member", "host": "does not name a member", "master": "does not name a member",
		"-y": "begins with a letter or a digit", "_y": "begins with a letter or a digit", "worker": "does not name a member",
		"all": "does not name a member", "": "has 1 to 64 characters",
	} {
		token, err := r.NewToken(Admission{Role: Person})
		require.NoError(t, err)
		_, err = r.Admit(token.Secret, newKey(t), name)
		require.ErrorIs(t, err, ErrName, name)
		require.ErrorContains(t, err, why, name)
		if name != "" && name != "ADA" { // a token may be for a member that is to leave
			_, err = r.NewToken(Admission{Role: Person, Name: name})
			require.ErrorContains(t, err, why, name)
		}
	}
	for _, m := range had {
		_, known := r.ByKey(m.Key)
		require.True(t, known, m.Name)
		token, err := r.NewToken(Admission{Name: m.Name, Replaces: true})
		require.NoError(t, err, m.Name)
		_, err = r.Admit(token.Secret, newKey(t), m.Name)
		require.NoError(t, err, m.Name)
	}
}
