package sandbox

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDownloadsNeverHoldALogin(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(home, ".config/pip"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".npmrc"), []byte("registry=https://npm.example/\n@in:registry = https://in.example\n"+
		"//npm.example/:_authToken=tok3n\n_auth=tok3n\n@out:registry=https://me:tok3n@out.example\n"), 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(home, ".config/pip/pip.conf"), []byte("[global]\nindex-url = https://file.example/simple\n"+
		"trusted-host = file.example\n"), 0o600))
	env, readable, leftOut := Downloads([]string{
		"HOME=" + home, "SSL_CERT_FILE=/etc/own.pem", "PIP_INDEX_URL=https://pip.example/simple", "NPM_TOKEN=tok3n",
		"PIP_EXTRA_INDEX_URL=https://a.example https://me:tok3n@b.example",
	})
	require.Equal(t, []string{
		"SSL_CERT_FILE=/etc/own.pem", "PIP_INDEX_URL=https://pip.example/simple", "npm_config_registry=https://npm.example/",
		"npm_config_@in:registry=https://in.example", "PIP_TRUSTED_HOST=file.example",
	}, env)
	require.Equal(t, []string{"/etc/own.pem"}, readable)
	require.Equal(t, []string{"PIP_EXTRA_INDEX_URL", "@out:registry in " + home + "/.npmrc"}, leftOut)
	require.NotContains(t, strings.Join(append(env, leftOut...), "\n"), "tok3n")
}
