package git

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddressesOfOneRemote(t *testing.T) {
	t.Parallel()
	for want, spellings := range map[string][]string{
		"": {""},
		"example.com/a/b": {
			"https://example.com/a/b", "https://example.com/a/b.git", "https://ada:pass@Example.com/a/b.git/", "http://example.com:80/a/b",
			"ssh://git@example.com/a/b.git", "ssh://git@example.com:22/a/b", "git@example.com:a/b.git", "example.com:/a/b",
			"git://example.com/a/b//", "HTTPS://p@ss@example.com:443/a/b",
		},
		"example.com:2222/a/b": {"ssh://git@example.com:2222/a/b"},
		"example.com/A/b":      {"https://example.com/A/b"},
		"/srv/a":               {"/srv/a", "/srv/a.git", "/srv/a/.git", "file:///srv/a.git", "../a", "./../a.git"},
		"/srv/top/x:y":         {"./x:y"},
		"example.com/":         {"https://example.com", "https://example.com/", "example.com:"},
	} {
		for _, s := range spellings {
			require.Equal(t, want, addressOf(s, "/srv/top"), s)
		}
	}
}

func FuzzAddressOf(f *testing.F) {
	for _, s := range []string{"https://a:b@c/d.git", "a@b:c", "../x", "://", "ext::sh -c x", "[::1]:22/x", "\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		host, _, _ := strings.Cut(addressOf(s, "/top"), "/")
		require.NotContains(t, host, "@", "a user, or a password")
	})
}
