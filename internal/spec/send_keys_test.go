package spec

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKeysGoOnlyWhereTheirOwnerSays(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		allowed, name, where string
		may                  bool
	}{
		"nobody said so":      {"", "K", "https://a.example/v1", false},
		"said so":             {"K=a.example", "K", "https://a.example/v1", true},
		"among others":        {"X=b.example, K=A.example", "K", "https://a.example:8443/v1", true},
		"another key":         {"X=a.example", "K", "https://a.example/v1", false},
		"another host":        {"K=a.example", "K", "https://a.example.evil.example/v1", false},
		"user info":           {"K=a.example", "K", "https://a.example@evil.example/v1", false},
		"this machine":        {"", "K", "http://127.0.0.1:11434/v1", true},
		"this machine's name": {"", "K", "http://localhost:11434/v1", true},
		"this machine, six":   {"", "K", "http://[::1]:11434/v1", true},
		"not this machine":    {"", "K", "http://localhost.evil.example/v1", false},
		"no TLS":              {"K=a.example", "K", "http://a.example/v1", false},
		"no TLS, said so":     {"K=http://a.example", "K", "HTTP://a.example:8000/v1", true},
		"a program":           {"K=docs", "K", "docs", true},
		"a program's name":    {"", "K", "localhost", false},
		"another program":     {"K=docs", "K", "docs2", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := MaySend(tt.allowed, tt.name, tt.where)
			require.Equal(t, tt.may, err == nil, "%v", err)
		})
	}
	require.ErrorContains(t, MaySend("", "K", "https://a.example/v1"), "set DIVISI_SEND_KEYS=K=a.example")
}

func TestWordsAboutKeysThatMeanNothingAreRefused(t *testing.T) {
	t.Parallel()
	for _, allowed := range []string{
		"", " ", "K=a.example", "K=a.example, L=mcp:docs ,", "K=http://a.example", "K=::1", "_k1=docs",
	} {
		require.NoError(t, CheckSendKeys(allowed), allowed)
	}
	for allowed, entry := range map[string]string{
		"sk-hunter2": "entry 1 ", "K=": "entry 1 ", "=a.example": "entry 1 ", "K=a.example,hunter2": "entry 2 ",
		"K=a.example L=b.example": "entry 1 ", "K=https://a.example": "entry 1 ", "K=a.example/v1": "entry 1 ",
		"sk-hunter2=a.example": "entry 1 ", "K=mcp:": "entry 1 ", "K=L=a.example": "entry 1 ",
		"K=a.example:443": "entry 1 ", "K=[::2]": "entry 1 ", "K=http://a.example:80": "entry 1 ",
	} {
		err := CheckSendKeys(allowed)
		require.ErrorContains(t, err, entry+"of DIVISI_SEND_KEYS is not of the form NAME=HOST", allowed)
		require.NotContains(t, err.Error(), "hunter2")
	}
}
