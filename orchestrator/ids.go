package orchestrator

import (
	"os/user"
	"time"

	"github.com/oklog/ulid/v2"

	"divisi/subagents/wire"
)

func now() time.Time { return time.Now().UTC() }

// newID returns a sortable id.
func newID() string { return ulid.Make().String() }

// account is the identity of the person whose account of the operating system this process has.
func account() string {
	u, err := user.Current()
	if err != nil {
		return wire.Person("")
	}
	return wire.Person(u.Username)
}
