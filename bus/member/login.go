package member

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nkeys"

	"divisi/internal/usage"
)

// Login is what a member keeps: where the server is, and the key that the server knows.
type Login struct {
	URL         string `json:"url"`
	Name        string `json:"name"`
	Role        Role   `json:"role"`
	Seed        string `json:"seed"`        // the secret half of the key; it never leaves the machine
	Certificate string `json:"certificate"` // the SHA-256 of the server's certificate, in hex
	// Tags are those that the token has given a worker.
	Tags []string `json:"tags,omitempty"`
}

// NewLogin makes a key for who joins with a token.
func NewLogin(t Token, name string) (*Login, error) {
	key, err := nkeys.CreateUser()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	defer key.Wipe()
	seed, err := key.Seed()
	if err != nil {
		return nil, fmt.Errorf("make a key: %w", err)
	}
	return &Login{URL: t.URL, Name: name, Role: t.Role, Seed: string(seed), Certificate: t.Certificate}, nil
}

// ReadLogin reads a login from its file.
func ReadLogin(path string) (*Login, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	if mode := info.Mode().Perm(); runtime.GOOS != "windows" && mode&0o077 != 0 {
		return nil, usage.Errorf("%s has a secret key, and others can read it (mode %04o). If they may have, join again; else: "+
			"chmod 600 %s", path, mode, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the login: %w", err)
	}
	var l Login
	if err = decode(data, &l); err == nil {
		err = l.valid()
	}
	if err != nil {
		return nil, usage.Errorf("%s is damaged: %v. Join again", path, err)
	}
	return &l, nil
}

func (l *Login) valid() error {
	key, err := l.Key()
	if err != nil {
		return err
	}
	if digest, err := hex.DecodeString(l.Certificate); err != nil || len(digest) != sha256.Size {
		return fmt.Errorf("it has no digest of the server's certificate")
	}
	if err := (Member{Name: l.Name, Role: l.Role, Key: key}).valid(); err != nil {
		return err
	}
	return validAddress(l.URL)
}

// Write writes the login to a file that the user alone can read.
func (l *Login) Write(path string) error {
	data, err := json.MarshalIndent(l, "", "  ")
	if err != nil {
		return fmt.Errorf("encode the login: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return fmt.Errorf("make the directory of the login: %w", err)
	}
	if err := maybe.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the login: %w", err)
	}
	return nil
}

// Key is the public half of the key.
func (l *Login) Key() (string, error) {
	key, err := nkeys.FromSeed([]byte(l.Seed))
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	defer key.Wipe()
	public, err := key.PublicKey()
	if err != nil {
		return "", fmt.Errorf("read the key: %w", err)
	}
	return public, nil
}

// Sign signs the nonce of a server, and nothing else that a server may send in its place.
func (l *Login) Sign(of []byte) ([]byte, error) {
	if !nonce.Match(of) {
		return nil, fmt.Errorf("the server asks to sign %.20q, which is no nonce", of)
	}
	return l.sign(of)
}

func (l *Login) sign(message []byte) ([]byte, error) {
	key, err := nkeys.FromSeed([]byte(l.Seed))
	if err != nil {
		return nil, fmt.Errorf("read the key: %w", err)
	}
	defer key.Wipe()
	return key.Sign(message)
}

// decode reads JSON that has what v has, and nothing else.
func decode(data []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return fmt.Errorf("something follows its end")
	}
	return nil
}
