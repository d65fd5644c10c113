package remote_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/orchestrator/forge/remote"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"https://github.com/acme/shop.git":                 "github github.com acme/shop https://api.github.com",
		"https://user:pass@github.com/acme/shop":           "github github.com acme/shop https://api.github.com",
		"git@github.com:acme/shop.git":                     "github github.com acme/shop https://api.github.com",
		"ssh://git@ssh.github.com:443/acme/shop.git":       "github github.com acme/shop https://api.github.com",
		"https://acme.ghe.com/acme/shop":                   "github acme.ghe.com acme/shop https://api.acme.ghe.com",
		"ssh://git@github.corp.example:2222/acme/shop.git": "github github.corp.example acme/shop https://github.corp.example/api/v3",
		"https://gitlab.com/group/sub/shop.git":            "gitlab gitlab.com group/sub/shop https://gitlab.com/api/v4",
		"https://code.example/acme/shop.git":               " code.example acme/shop https://code.example/api/v3",
		"/srv/git/shop.git":                                "   ",
		"../shop":                                          "   ",
		"file:///srv/git/shop.git":                         "   ",
		"ext::sh -c evil":                                  "   ",
	} {
		r, err := remote.Parse(address, "")
		require.NoError(t, err, address)
		got := r.Kind + " " + r.Host + " "
		if r.Host != "" {
			got += r.Path() + " " + r.API()
		} else {
			got += " "
		}
		require.Equal(t, want, got, address)
	}
	local, err := remote.Parse("http://127.0.0.1:8080/acme/shop.git", remote.GitHub)
	require.NoError(t, err)
	require.Equal(t, "http://127.0.0.1:8080/api/v3", local.API())
	for _, bad := range []string{
		"http://github.com/acme/shop", "https://github.com/acme/../shop", "https://github.com/a b/shop", "https://github.com/a/b/shop",
		"https://github.com/acme/sh%0aop",
	} {
		_, err := remote.Parse(bad, "")
		require.Error(t, err, bad)
	}
}

func FuzzParse(f *testing.F) {
	f.Add("git@github.com:acme/shop.git")
	f.Add("https://[::1]:80/a/b")
	f.Fuzz(func(t *testing.T, address string) {
		r, err := remote.Parse(address, "")
		if err == nil && r.Kind != "" {
			require.NotContains(t, r.Path(), "..")
			require.NotEmpty(t, r.Host)
		}
	})
}
