// Package member decides who may use a server that listens beyond loopback, and for what. Its input is a token that a person
// hands to another machine, and the signature of the key that was made there; its output are the permissions of a connection, and
// on the other side what a client has to keep. It knows subjects and keys, and nothing of what a message means. It opens no
// connection.
package member

import (
	"fmt"
	"time"

	"github.com/nats-io/nkeys"
)

// Role is what a member may do; see permissions.
type Role string

// The roles. Server is the process that serves: it may do everything, and no token admits it.
const (
	Worker Role = "worker" // carries out attempts
	Person Role = "person" // begins runs and sends requests to them
	Viewer Role = "viewer" // reads; see Member.Raw
	Server Role = "server"
)

// Member is a key that the server admits.
type Member struct {
	Name   string    `json:"name"`
	Role   Role      `json:"role"`
	Key    string    `json:"key"` // the public half of an nkey of a user
	Joined time.Time `json:"joined"`
	// Tags are those that a worker has whatever it says of itself.
	Tags []string `json:"tags,omitempty"`
	// Raw lets a viewer read what commands printed: the log and its objects.
	Raw bool `json:"raw,omitempty"`

	before string // the key that it had until it joined
}

// Before is the key that a member had until it joined with this one; "" for none.
func (m Member) Before() string { return m.before }

func (m Member) String() string { return fmt.Sprintf("%s %s", m.Role, m.Name) }

func (m Member) valid() error {
	if err := validName(m.Name); err != nil {
		return err
	}
	if !m.Role.joins() {
		return fmt.Errorf("%s has the role %q, which no member has", m.Name, m.Role)
	}
	if !nkeys.IsValidPublicUserKey(m.Key) {
		return fmt.Errorf("%s has no valid public key", m.Name)
	}
	return nil
}

// joins reports whether a token can admit a member of the role.
func (r Role) joins() bool { return r == Worker || r == Person || r == Viewer }

const maxMemberName = 64

// local is the worker inside the process of a run: a member of that name could append as that one.
const local = "local"

// isToken reports whether a text can be one token of a subject.
func isToken(text string) bool {
	for i := range len(text) {
		switch c := text[i]; {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '-', c == '_':
		default:
			return false
		}
	}
	return text != ""
}

// validName accepts what can be one token of a subject, and stands for one member alone.
func validName(name string) error {
	if name == "" || len(name) > maxMemberName {
		return fmt.Errorf("the name of a member has 1 to %d characters, and %.80q has %d", maxMemberName, name, len(name))
	}
	if !isToken(name) {
		return fmt.Errorf("the name of a member has letters, digits, - and _ only, and %q has others", name)
	}
	if name == local {
		return fmt.Errorf("%s is the name of the worker inside the process of a run: choose another one", local)
	}
	return nil
}
