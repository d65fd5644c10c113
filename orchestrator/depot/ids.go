package depot

import (
	"os/user"
	"time"

	"github.com/oklog/ulid/v2"

	"divisi/subagents/wire"
)

// Now is the time as logs have it.
func Now() time.Time { return time.Now().UTC() }

// NewID returns a sortable id.
func NewID() string { return ulid.Make().String() }

// Account is the identity of the person whose account of the operating system this process has.
func Account() string {
	u, err := user.Current()
	if err != nil {
		return wire.Person("")
	}
	return wire.Person(u.Username)
}
