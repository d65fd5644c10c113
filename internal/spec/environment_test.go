package spec

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSecretPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		".env", ".env.local", ".ENV", "a/.envrc", "node_modules/x/.npmrc", ".netrc", "deploy/id_rsa", "id_ed25519.pub", "a/b.pem",
		"tls/server.key", ".aws", ".aws/credentials", "x/.aws/config", ".docker/config.json", ".config/gcloud/x.db", ".git",
		"sub/.git/config", ".venv/.git", "home/.cargo/credentials.toml", "service-account-prod.json", ".pypirc", ".ssh/known_hosts",
		"terraform.tfstate", "client_secret_1.json",
	} {
		require.True(t, SecretPath(name), name)
	}
	for _, name := range []string{
		"node_modules", ".venv/lib/certifi/cacert.pem", "google/oauth2/service_account.py", "dist/keyboard.js", ".gitignore",
		"env", "target", "node_modules/credentials/index.js", ".config/x", "gcloud/index.js", ".cargo/registry",
	} {
		require.False(t, SecretPath(name), name)
	}
}

func TestEnvironmentNamesIgnoredPaths(t *testing.T) {
	t.Parallel()
	e := Environment{Word: EnvironmentCheckout}
	require.NoError(t, e.Name([]string{"x.pyc", "a/__pycache__/", ".env", "bad\x1bname", "server.pem", "debug.log"}))
	require.Equal(t, Environment{Word: EnvironmentCheckout}, e)
	require.NoError(t, e.Name([]string{"node_modules/", "app/[id].gen.ts", ".env.local", "a/node_modules/", "dist/"}))
	require.Equal(t, Environment{Paths: []string{"a/node_modules", "app/[id].gen.ts", "dist", "node_modules"}}, e)
	many := make([]string, maxEnvironment+1)
	for i := range many {
		many[i] = fmt.Sprint("d", i, "/")
	}
	require.ErrorContains(t, e.Name(many), "git ignores 501 paths of the checkout, and a run takes at most 500: name those")
}
