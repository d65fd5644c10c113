package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

var planted = []string{
	"PATH=/usr/bin:.:relative:/bin:/usr/bin", "HOME=/home/someone", "GEMINI_API_KEY=AIza-planted", "GOOGLE_API_KEY=planted",
	"GITHUB_TOKEN=ghp_planted", "AWS_SECRET_ACCESS_KEY=planted", "DB_PASSWORD=planted", "SSH_AUTH_SOCK=/run/planted",
	"GOOGLE_APPLICATION_CREDENTIALS=/planted.json", "LD_PRELOAD=/planted.so", "GIT_DIR=/planted", "BASH_ENV=/planted",
	"HTTPS_PROXY=http://me:planted@proxy", "PYTHONPATH=/planted", "DATABASE_URL=postgres://localhost/test",
}

func TestNothingButTheAllowListPasses(t *testing.T) {
	t.Parallel()
	env, err := Env(Settings{
		Base: planted, Tools: "/state/tools", Path: []string{"/go/bin"}, Home: "/slot/home", Temp: "/slot/tmp",
		Extra: []string{"DATABASE_URL", "NOT_SET"}, Vars: map[string]string{"DIVISI_RUN": "r1", "GOFLAGS": "-trimpath"},
	})
	require.NoError(t, err)
	require.NotContains(t, strings.Join(env, "\n"), "planted")
	require.Equal(t, []string{
		"CI=1", "DATABASE_URL=postgres://localhost/test", "DIVISI_RUN=r1", "DIVISI_TOOLS=/state/tools",
		"GIT_TERMINAL_PROMPT=0", "GOFLAGS=-trimpath", "HOME=/slot/home", "LANG=C.UTF-8", "LC_ALL=C.UTF-8",
		"PATH=/state/tools/bin:/state/tools:/go/bin:/usr/bin:/bin", "TERM=dumb", "TMPDIR=/slot/tmp",
	}, env)
}

// The flags of go that a cache needs stay where the project names those of the person's shell, which count.
func TestNamedFlagsOfGoComeLast(t *testing.T) {
	t.Parallel()
	s := Settings{
		Base: []string{"GOFLAGS=-tags=mine"}, Extra: []string{"GOFLAGS"}, Vars: map[string]string{"GOFLAGS": "-modcacherw"},
	}
	env, err := Env(s)
	require.NoError(t, err)
	require.Contains(t, env, "GOFLAGS=-modcacherw -tags=mine")
	s.Extra = nil
	env, err = Env(s)
	require.NoError(t, err)
	require.Contains(t, env, "GOFLAGS=-modcacherw")
}

// A command without network is not to wait for it, unless the project passes a setting of its own.
func TestPackageManagersStayOffline(t *testing.T) {
	t.Parallel()
	proxies := "file:///own,https://proxy.example|file:///theirs,direct"
	for _, c := range []struct {
		s    Settings
		want []string
		not  []string
	}{
		{Settings{Offline: true}, []string{
			"npm_config_offline=true", "npm_config_fetch_retries=0", "PIP_NO_INDEX=1",
			"UV_OFFLINE=1", "YARN_ENABLE_NETWORK=0", "CARGO_NET_OFFLINE=true", "MAVEN_ARGS=-o", "GOPROXY=file:///own,file:///theirs,off",
		}, nil},
		{Settings{Offline: true, Defaults: map[string]string{"MAVEN_ARGS": "-Dmaven.repo.local=x"}}, []string{"MAVEN_ARGS=-Dmaven.repo.local=x -o"}, nil},
		{Settings{}, []string{"GOPROXY=" + proxies}, []string{"npm_config_offline", "PIP_NO_INDEX", "MAVEN_ARGS"}},
		{
			Settings{Offline: true, Base: []string{"PIP_NO_INDEX=", "GOPROXY=x"}, Extra: []string{"PIP_NO_INDEX", "GOPROXY"}},
			[]string{"PIP_NO_INDEX=", "UV_OFFLINE=1", "GOPROXY=" + proxies},
			nil,
		},
	} {
		c.s.Vars = map[string]string{"GOPROXY": proxies}
		env, err := Env(c.s)
		require.NoError(t, err)
		require.Subset(t, env, c.want)
		for _, name := range c.not {
			require.NotContains(t, strings.Join(env, "\n"), name)
		}
	}
}

func TestSecretNamesAreRefused(t *testing.T) {
	t.Parallel()
	for _, name := range []string{
		"GEMINI_API_KEY", "github_token", "AWS_SECRET_ACCESS_KEY", "DB_PASSWORD",
		"GOOGLE_APPLICATION_CREDENTIALS", "SSH_PASSPHRASE",
	} {
		_, err := Env(Settings{Base: planted, Extra: []string{name}})
		require.ErrorIs(t, err, ErrSecretName)
		require.ErrorContains(t, err, name)
		_, err = Env(Settings{Vars: map[string]string{name: "x"}})
		require.ErrorIs(t, err, ErrSecretName)
	}
	_, err := Env(Settings{Extra: []string{"A=B", "SOME_KEY"}})
	require.ErrorContains(t, err, `"A=B": not a name`)
	require.ErrorContains(t, err, "SOME_KEY", "all faults at once")
}

func FuzzEnv(f *testing.F) {
	f.Add("DATABASE_URL", "value")
	f.Add("MY_TOKEN", "value")
	f.Add("A\x00B", "=")
	f.Fuzz(func(t *testing.T, name, value string) {
		env, err := Env(Settings{Base: []string{name + "=" + value}, Extra: []string{name}})
		if err != nil {
			return
		}
		require.True(t, validName.MatchString(name))
		require.False(t, spec.SecretName(name))
		require.Contains(t, env, name+"="+value)
	})
}
