package bus

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/nats-io/jwt/v2"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nkeys"
	"github.com/stretchr/testify/require"

	"divisi/bus/member"
)

// signer is a pair of keys that signs claims.
type signer struct {
	nkeys.KeyPair
	public string
}

func newSigner(t *testing.T, create func() (nkeys.KeyPair, error)) signer {
	t.Helper()
	key, err := create()
	require.NoError(t, err)
	public, err := key.PublicKey()
	require.NoError(t, err)
	return signer{key, public}
}

// A signing key of a role makes users of that role alone: the server puts the name of each into its permissions.
func TestEachRoleBySigningKeys(t *testing.T) {
	t.Parallel()
	operator, system := newSigner(t, nkeys.CreateOperator), newSigner(t, nkeys.CreateAccount)
	account := newSigner(t, nkeys.CreateAccount)
	claims := jwt.NewAccountClaims(account.public)
	claims.Limits.JetStreamLimits = jwt.JetStreamLimits{
		MemoryStorage: jwt.NoLimit, DiskStorage: jwt.NoLimit, Streams: jwt.NoLimit, Consumer: jwt.NoLimit,
	}
	s := space{"one", map[string]string{}}
	user := func(name string, by signer, scoped bool) {
		key := newSigner(t, nkeys.CreateUser)
		u := jwt.NewUserClaims(key.public)
		u.Name, u.IssuerAccount = name, account.public
		u.SetScoped(scoped)
		s.keep(t, name, key, encoded(t, u, by))
	}
	user(member.HostName, account, false)
	for _, role := range roles {
		by := newSigner(t, nkeys.CreateAccount)
		p, scope := member.OnCluster(role, "{{name()}}"), jwt.NewUserScope()
		scope.Key, scope.Role = by.public, string(role)
		scope.Template.Pub.Allow, scope.Template.Sub.Allow = p.Publish.Allow, p.Subscribe.Allow
		claims.SigningKeys.AddScopedSigner(scope)
		user(string(role), by, true)
	}
	resolver := &server.MemAccResolver{}
	require.NoError(t, resolver.Store(account.public, encoded(t, claims, operator)))
	require.NoError(t, resolver.Store(system.public, encoded(t, jwt.NewAccountClaims(system.public), operator)))
	eachRole(t, s, single(t, &server.Options{
		Port: server.RANDOM_PORT, SystemAccount: system.public, AccountResolver: resolver,
		TrustedOperators: []*jwt.OperatorClaims{jwt.NewOperatorClaims(operator.public)},
	}))
}

func encoded(t *testing.T, c jwt.Claims, by signer) string {
	t.Helper()
	text, err := c.Encode(by)
	require.NoError(t, err)
	return text
}

// keep writes the credentials of a user.
func (s *space) keep(t *testing.T, name string, key signer, token string) {
	t.Helper()
	seed, err := key.Seed()
	require.NoError(t, err)
	data, err := jwt.FormatUserConfig(token, seed)
	require.NoError(t, err)
	s.seeds[name] = filepath.Join(t.TempDir(), name+".creds")
	require.NoError(t, os.WriteFile(s.seeds[name], data, 0o600))
}
