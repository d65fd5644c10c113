package bus

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/google/renameio/v2/maybe"
	"github.com/nats-io/nats.go"
)

const holderName = "server.json"

// holder is server.json: how other processes of the same user reach the one that holds a directory. Mode 0600.
type holder struct {
	URL         string    `json:"url"`
	User        string    `json:"user,omitempty"`
	Password    string    `json:"password,omitempty"`
	Credentials string    `json:"credentials,omitempty"` // path of a NATS credentials file
	Embedded    bool      `json:"embedded,omitempty"`    // the server ends with its holder
	Run         string    `json:"run,omitempty"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`
}

// external describes the server that Options.URL names. User and password move out of the address, so that it can be shown.
func external(o Options) (holder, error) {
	h := holder{User: o.User, Password: o.Password, Credentials: o.Credentials}
	var clean []string
	for part := range strings.SplitSeq(o.URL, ",") {
		part = strings.TrimSpace(part)
		if !strings.Contains(part, "://") {
			part = "nats://" + part
		}
		u, err := url.Parse(part)
		if err != nil || u.Host == "" {
			// The text of a parse error repeats the address, which may hold a password.
			return holder{}, fmt.Errorf("%w: the server address is not like nats://host:port", ErrUnavailable)
		}
		if u.User != nil && h.User == "" {
			h.User = u.User.Username()
			h.Password, _ = u.User.Password()
		}
		u.User = nil
		clean = append(clean, u.String())
	}
	h.URL = strings.Join(clean, ",")
	return h, nil
}

// login is the client option for the holder's credential.
func (h holder) login() []nats.Option {
	var opts []nats.Option
	switch {
	case h.Password != "":
		opts = append(opts, nats.UserInfo(h.User, h.Password))
	case h.User != "":
		opts = append(opts, nats.Token(h.User)) // nats://token@host
	}
	if h.Credentials != "" {
		opts = append(opts, nats.UserCredentials(h.Credentials))
	}
	return opts
}

func (h holder) write(dir string) error {
	data, err := json.MarshalIndent(h, "", "  ") //nolint:gosec // the password is what the file is for; mode 0600
	if err != nil {
		return fmt.Errorf("encode %s: %w", holderName, err)
	}
	if err := maybe.WriteFile(filepath.Join(dir, holderName), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrUnavailable, holderName, err)
	}
	return nil
}

// readHolder reads server.json. os.ErrNotExist when there is none.
func readHolder(dir string) (holder, error) {
	path := filepath.Join(dir, holderName)
	data, err := os.ReadFile(path)
	if err != nil {
		return holder{}, fmt.Errorf("read %s: %w", path, err)
	}
	var h holder
	if err := json.Unmarshal(data, &h); err != nil {
		return holder{}, fmt.Errorf("read %s: %w", path, err)
	}
	if h.Run != "" && !ValidToken(h.Run) {
		return holder{}, fmt.Errorf("read %s: %w: run %q", path, ErrSubject, h.Run)
	}
	return h, nil
}

func removeHolder(dir string) error {
	if err := os.Remove(filepath.Join(dir, holderName)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", holderName, err)
	}
	return nil
}
