package member

import (
	"testing"

	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"divisi/internal/usage"
)

func userKey(t *testing.T) string {
	t.Helper()
	key, err := nkeys.CreateUser()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	return public
}

func TestAccountsThatNoServerCanHave(t *testing.T) {
	t.Parallel()
	one, other := userKey(t), userKey(t)
	w1 := Member{Name: "w1", Role: Worker}
	require.NoError(t, (&Accounts{
		Spaces: []string{"a"}, HostKey: one, Members: []Member{w1, {Name: "ada", Role: Person, Key: other}},
	}).Check())
	for why, a := range map[string]Accounts{
		"names no space":         {Spaces: []string{"a.b"}},
		"each name once":         {Spaces: []string{"a", "a"}},
		"w1 is there twice":      {Spaces: []string{"a"}, Members: []Member{w1, {Name: "w1", Role: Viewer}}},
		"host is there twice":    {Spaces: []string{"a"}, Members: []Member{{Name: "host", Role: Worker}}},
		"has others":             {Spaces: []string{"a"}, Members: []Member{{Name: "w.1", Role: Worker}}},
		"choose another one":     {Spaces: []string{"a"}, Members: []Member{{Name: "local", Role: Worker}}},
		"is no public key":       {Spaces: []string{"a"}, Members: []Member{{Name: "w1", Role: Worker, Key: "UX"}}},
		"host needs":             {Spaces: []string{"a"}, HostKey: "SU"},
		"the key of another one": {Spaces: []string{"a"}, HostKey: one, Members: []Member{{Name: "w1", Role: Worker, Key: one}}},
		"logs in to one space":   {Spaces: []string{"a", "b"}, HostKey: one},
	} {
		err := a.Check()
		require.ErrorContains(t, err, why)
		require.ErrorAs(t, err, new(*usage.Error), why)
	}
}

func TestOnAClusterSingleMessagesAreReadByPlaceToo(t *testing.T) {
	t.Parallel()
	for role, more := range map[Role][]string{
		Worker: {"OBJ", "CACHE"}, Person: {"EV", "OBJ", "CACHE"}, Viewer: nil,
	} {
		built, cluster := permissions(Member{Name: "m", Role: role}), OnCluster(role, "m")
		var want []string
		for _, stream := range more {
			want = append(want, "$JS.API.STREAM.MSG.GET."+stream)
		}
		require.ElementsMatch(t, append(want, built.Publish.Allow...), cluster.Publish.Allow, role)
		require.Equal(t, built.Subscribe, cluster.Subscribe, role)
	}
}
