package member

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net"
	"net/url"
	"strings"

	"divisi/internal/usage"
)

const (
	tokenPrefix = "divisi"
	tokenFormat = "1"
	secretSize  = 26 // of rand.Text
	checkSize   = 8
)

// letters stand for the roles in the text of a token.
var letters = map[Role]byte{Worker: 'w', Person: 'p', Viewer: 'v'}

// Token is what a person hands to another machine, so that it becomes a member of a server.
type Token struct {
	URL         string // tls://host:port, or wss:// for WebSocket
	Certificate string // the SHA-256 of the server's certificate, in hex
	Secret      string
	Role        Role
	// Replaces reports that it gives a member another key.
	Replaces bool
}

// String is the token in one line of letters, digits, dots, - and _. ParseToken reads it.
func (t Token) String() string {
	digest, _ := hex.DecodeString(t.Certificate) // a token that is not whole has a text that cannot be read
	letter := letters[t.Role]
	if t.Replaces {
		letter -= 'a' - 'A'
	}
	data := append([]byte{letter}, digest...)
	data = append(append(data, t.Secret...), t.URL...)
	text := tokenPrefix + tokenFormat + "." + base64.RawURLEncoding.EncodeToString(data)
	return text + "." + checkOf(text)
}

func checkOf(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])[:checkSize]
}

// ParseToken reads the text of a token. Its errors report whether the text was cut, mistyped, or is of another program.
func ParseToken(text string) (Token, error) {
	text = strings.TrimSpace(text)
	head, rest, more := strings.Cut(text, ".")
	format, ours := strings.CutPrefix(head, tokenPrefix)
	switch {
	case !ours:
		return Token{}, usage.Errorf("a token begins with %s%s and a dot: copy the whole line", tokenPrefix, tokenFormat)
	case more && format != tokenFormat:
		return Token{}, usage.Errorf("the token has the format %.20q, and this program reads %s: use the same version on both "+
			"machines", format, tokenFormat)
	}
	body, check, more := strings.Cut(rest, ".")
	if !more || len(check) < checkSize {
		return Token{}, usage.Errorf("the end of the token is missing: copy the whole line")
	}
	if check != checkOf(head+"."+body) {
		return Token{}, usage.Errorf("a character of the token is wrong: copy the line instead of typing it")
	}
	data, err := base64.RawURLEncoding.Strict().DecodeString(body)
	if err != nil || len(data) <= 1+sha256.Size+secretSize {
		return Token{}, usage.Errorf("the token is incomplete: make a new one")
	}
	return tokenOf(data)
}

// tokenOf reads the content of a token.
func tokenOf(data []byte) (Token, error) {
	letter, digest, secret := data[0], data[1:1+sha256.Size], data[1+sha256.Size:1+sha256.Size+secretSize]
	t := Token{
		URL: string(data[1+sha256.Size+secretSize:]), Certificate: hex.EncodeToString(digest), Secret: string(secret),
	}
	for role, l := range letters {
		if l == letter || l-('a'-'A') == letter {
			t.Role, t.Replaces = role, l != letter
		}
	}
	if t.Role == "" {
		return Token{}, usage.Errorf("the token has the role %q, which this program does not know: use the same version on both "+
			"machines", letter)
	}
	return t, validAddress(t.URL)
}

// validAddress accepts tls://host:port and wss://host:port.
func validAddress(address string) error {
	u, err := url.Parse(address)
	if err == nil && (u.Scheme == "tls" || u.Scheme == "wss") && u.User == nil && u.Scheme+"://"+u.Host == address {
		if host, port, err := net.SplitHostPort(u.Host); err == nil && host != "" && port != "" {
			return nil
		}
	}
	return usage.Errorf("the address of the server is not like tls://host:port or wss://host:port: %.80q", address)
}
