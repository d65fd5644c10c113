package member

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func aToken() Token {
	return Token{
		URL: "tls://build.example.org:4222", Certificate: strings.Repeat("0a", 32), Secret: strings.Repeat("A", secretSize), Role: Worker,
	}
}

func TestToken(t *testing.T) {
	t.Parallel()
	for _, role := range []Role{Worker, Person, Viewer} {
		want := aToken()
		want.Role = role
		got, err := ParseToken(" " + want.String() + "\n")
		require.NoError(t, err)
		require.Equal(t, want, got)
		require.Regexp(t, `^[A-Za-z0-9._-]+$`, want.String())
	}
}

func TestATokenThatCannotBeRead(t *testing.T) {
	t.Parallel()
	text := aToken().String()
	for n := len("divisi1."); n < len(text); n++ {
		_, err := ParseToken(text[:n])
		require.ErrorContains(t, err, "the end of the token is missing", text[:n])
	}
	for i := len("divisi1."); i < len(text)-checkSize-1; i++ {
		other := "x"
		if text[i] == 'x' {
			other = "y"
		}
		_, err := ParseToken(text[:i] + other + text[i+1:])
		require.ErrorContains(t, err, "a character of the token is wrong")
	}
	_, err := ParseToken("divisi2" + strings.TrimPrefix(text, "divisi1"))
	require.ErrorContains(t, err, `has the format "2"`)
	for _, text := range []string{"", "hello", "tls://x:1"} {
		_, err = ParseToken(text)
		require.ErrorContains(t, err, "a token begins with divisi1")
	}
	for _, address := range []string{"", "x", "nats://x:1", "tls://x", "tls://x:1/y", "tls://a@x:1", "tls://:1"} {
		bad := aToken()
		bad.URL = address
		_, err := ParseToken(bad.String())
		require.Error(t, err, address)
	}
	bad := aToken()
	bad.Role = Server
	_, err = ParseToken(bad.String())
	require.ErrorContains(t, err, "which this program does not know")
}

// FuzzParseToken: what can be read has one text, and nothing is read from others.
func FuzzParseToken(f *testing.F) {
	f.Add(aToken().String())
	f.Add("divisi1..")
	f.Add("divisi1.AAAA.00000000")
	f.Fuzz(func(t *testing.T, text string) {
		for _, text := range []string{text, text + "." + checkOf(text)} {
			if token, err := ParseToken(text); err == nil {
				require.Equal(t, strings.TrimSpace(text), token.String())
			}
		}
	})
}
