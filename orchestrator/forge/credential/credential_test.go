package credential_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/forge/credential"
	"divisi/orchestrator/forge/remote"
)

func finder(env map[string]string, says map[string]string) credential.Finder {
	return credential.Finder{
		Env: func(name string) string { return env[name] },
		Run: func(_ context.Context, _ string, command ...string) (string, error) {
			if out, has := says[command[0]]; has {
				return out, nil
			}
			return "", errors.New("not installed")
		},
	}
}

func at(t *testing.T, address string) remote.Remote {
	t.Helper()
	r, err := remote.Parse(address, remote.GitHub)
	require.NoError(t, err)
	return r
}

func TestATokenIsForItsHostAlone(t *testing.T) {
	t.Parallel()
	hub, corp := at(t, "https://github.com/a/b"), at(t, "https://code.example/a/b")
	env := map[string]string{"GH_TOKEN": "t1", "DIVISI_FORGE_TOKEN": "t2"}
	c, err := finder(env, nil).Find(t.Context(), hub)
	require.NoError(t, err)
	require.Equal(t, "t2", c.Secret)
	_, err = finder(env, nil).Find(t.Context(), corp)
	require.ErrorContains(t, err, "there is no token for code.example: log in with gh auth login, or set DIVISI_FORGE_TOKEN with DIVISI_FORGE_HOST=code.example")
	env["DIVISI_FORGE_HOST"] = "code.example"
	c, err = finder(env, nil).Find(t.Context(), corp)
	require.NoError(t, err)
	require.Equal(t, "t2", c.Secret)
	c, err = finder(env, nil).Find(t.Context(), hub)
	require.NoError(t, err)
	require.Equal(t, "t1", c.Secret)
}

func TestWhereATokenIsFound(t *testing.T) {
	t.Parallel()
	hub := at(t, "https://github.com/a/b")
	c, err := finder(nil, map[string]string{"gh": "t3", "git": "password=t4"}).Find(t.Context(), hub)
	require.NoError(t, err)
	require.Equal(t, []string{"t3", "gh"}, []string{c.Secret, c.From})
	c, err = finder(nil, map[string]string{"git": "protocol=https\nusername=u\npassword=t4\n"}).Find(t.Context(), hub)
	require.NoError(t, err)
	require.Equal(t, "t4", c.Secret)
	c, err = finder(map[string]string{"GITHUB_TOKEN": "t5", "GITHUB_ACTIONS": "true"}, nil).Find(t.Context(), hub)
	require.NoError(t, err)
	require.True(t, c.Silent)
	for _, bad := range []string{"two words", "a\nb: c", strings.Repeat("x", 5000)} {
		_, err = finder(map[string]string{"GH_TOKEN": bad}, nil).Find(t.Context(), hub)
		require.ErrorContains(t, err, "GH_TOKEN holds no token")
	}
	require.NotContains(t, fmt.Sprintf("%v %+v %#v %s", c, c, c, c), "t5")
}

// Git hands the token to its host, and to none that a setting of the person's leads to in its place.
func TestGitGivesTheTokenToItsHost(t *testing.T) {
	t.Parallel()
	c := credential.Credential{Host: "github.com", Scheme: "https", User: "x-access-token", Secret: "t1"}
	args, env := c.Git()
	require.NotContains(t, strings.Join(args, " "), "t1")
	fill := func(protocol, host string) string {
		cmd := exec.Command("git", append(args, "credential", "fill")...)
		cmd.Env = append(os.Environ(), append(env, "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "GIT_ASKPASS=")...)
		cmd.Dir = t.TempDir()
		cmd.Stdin = strings.NewReader("protocol=" + protocol + "\nhost=" + host + "\n\n")
		out, _ := cmd.Output() // it fails where it has none
		return string(out)
	}
	require.Contains(t, fill("https", "github.com"), "password=t1")
	require.NotContains(t, fill("https", "evil.example"), "t1")
	require.NotContains(t, fill("http", "github.com"), "t1")
	require.NotContains(t, fill("https", "github.com.evil.example"), "t1")
}

func TestRunAsksNothing(t *testing.T) {
	t.Parallel()
	run := credential.Run(t.TempDir(), append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null"))
	_, err := run(t.Context(), "protocol=https\nhost=github.com\n\n", "git", "credential", "fill")
	require.Error(t, err)
	_, err = run(t.Context(), "", "divisi-no-such-program")
	require.Error(t, err)
}
