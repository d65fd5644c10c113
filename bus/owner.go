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

	"divisi/bus/member"
)

// OwnerFile is, in the directory of an embedded server, how other processes of the same user reach it.
const OwnerFile = "server.json"

// owner is server.json: how other processes of the same user reach the owner of a directory. Mode 0600.
type owner struct {
	URL         string    `json:"url"`
	User        string    `json:"user,omitempty"`
	Password    string    `json:"password,omitempty"`
	Credentials string    `json:"credentials,omitempty"` // path of a file of NATS credentials
	Embedded    bool      `json:"embedded,omitempty"`    // the server ends with its owner
	Run         string    `json:"run,omitempty"`
	PID         int       `json:"pid"`
	Started     time.Time `json:"started"`

	joined *member.Login // that of a member; never in server.json
}

// external describes the server that Options.URL names. User and password move out of the address, so that it can be shown.
func external(o Options) (owner, error) {
	own := owner{User: o.User, Password: o.Password, Credentials: o.Credentials}
	var clean []string
	for part := range strings.SplitSeq(o.URL, ",") {
		part = strings.TrimSpace(part)
		if !strings.Contains(part, "://") {
			part = "nats://" + part
		}
		u, err := url.Parse(part)
		if err != nil || u.Host == "" {
			// The text of a parse error repeats the address, which may contain a password.
			return owner{}, fmt.Errorf("%w: the server address is not like nats://host:port", ErrUnavailable)
		}
		if u.User != nil && own.User == "" {
			own.User = u.User.Username()
			own.Password, _ = u.User.Password()
		}
		u.User = nil
		clean = append(clean, u.String())
	}
	own.URL = strings.Join(clean, ",")
	own.joined = o.Login
	return own, nil
}

// Shown is the address of a server, or a list of such, without user and password. What is no address is left as it is but for
// what stands before an @.
func Shown(address string) string {
	if own, err := external(Options{URL: address}); err == nil {
		return own.URL
	}
	return address[strings.LastIndex(address, "@")+1:]
}

// login is the client option for the owner's credential.
func (own owner) login() []nats.Option {
	var opts []nats.Option
	switch {
	case own.joined != nil:
		opts = append(opts, own.signs())
	case own.Password != "":
		opts = append(opts, nats.UserInfo(own.User, own.Password))
	case own.User != "":
		opts = append(opts, nats.Token(own.User)) // nats://token@host
	}
	switch filepath.Ext(own.Credentials) {
	case "":
	case seedFile:
		opts = append(opts, own.seed)
	default:
		opts = append(opts, nats.UserCredentials(own.Credentials))
	}
	return opts
}

// The ends of the names of files of NATS credentials: a JWT of a user with its seed, or the seed of an nkey alone.
const (
	credentialsFile = ".creds"
	seedFile        = ".nk"
)

// IsCredentials reports whether the name of a file is that of NATS credentials: it ends in .creds, or in .nk for a seed.
func IsCredentials(path string) bool {
	return filepath.Ext(path) == credentialsFile || filepath.Ext(path) == seedFile
}

// seed is the client option for a file with the seed of an nkey.
func (own owner) seed(o *nats.Options) error {
	opt, err := nats.NkeyOptionFromSeed(own.Credentials)
	if err != nil {
		return fmt.Errorf("read the seed in %s: %w", own.Credentials, err)
	}
	return opt(o)
}

// signs is the client option for the key of a member.
func (own owner) signs() nats.Option {
	return func(o *nats.Options) error {
		key, err := own.joined.Key()
		if err != nil {
			return err
		}
		return nats.Nkey(key, own.joined.Sign)(o)
	}
}

func (own owner) write(dir string) error {
	data, err := json.MarshalIndent(own, "", "  ") //nolint:gosec // the password is what the file is for; mode 0600
	if err != nil {
		return fmt.Errorf("encode %s: %w", OwnerFile, err)
	}
	if err := maybe.WriteFile(filepath.Join(dir, OwnerFile), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("%w: write %s: %w", ErrUnavailable, OwnerFile, err)
	}
	return nil
}

// readOwner reads server.json. os.ErrNotExist when there is none.
func readOwner(dir string) (owner, error) {
	path := filepath.Join(dir, OwnerFile)
	data, err := os.ReadFile(path)
	if err != nil {
		return owner{}, fmt.Errorf("read %s: %w", path, err)
	}
	var own owner
	if err := json.Unmarshal(data, &own); err != nil {
		return owner{}, fmt.Errorf("read %s: %w", path, err)
	}
	if own.Run != "" && !ValidToken(own.Run) {
		return owner{}, fmt.Errorf("read %s: %w: run %q", path, ErrSubject, own.Run)
	}
	return own, nil
}

// OwnerOptions are those of a client of the embedded server of a directory, as its server.json tells.
func OwnerOptions(dir string) (Options, error) {
	own, err := readOwner(dir)
	return Options{URL: own.URL, User: own.User, Password: own.Password, Credentials: own.Credentials}, err
}

func removeOwner(dir string) error {
	if err := os.Remove(filepath.Join(dir, OwnerFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("remove %s: %w", OwnerFile, err)
	}
	return nil
}
