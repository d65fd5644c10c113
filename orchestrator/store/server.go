package store

import (
	"path/filepath"

	"divisi/bus"
	"divisi/bus/member"
	"divisi/internal/release"
	"divisi/subagents/wire"
)

// Server is where the halves of a run meet: the URL of a NATS server, and the path of the file that logs in there; "" for
// none. It is a login of Divisi, a file of NATS credentials (see bus.IsCredentials), or the server.json of a process on this
// machine. Name is that of bus.Options, where the login does not have it.
type Server struct{ URL, Login, Name string }

// Options are those of every connection to the server.
func (s Server) Options() (bus.Options, error) {
	o := bus.Options{URL: s.URL, Name: s.Name, Speaks: wire.Speaks(release.Version())}
	if s.Login == "" || bus.IsCredentials(s.Login) {
		o.Credentials = s.Login
		return o, nil
	}
	if filepath.Base(s.Login) == bus.OwnerFile {
		return bus.OwnerOptions(filepath.Dir(s.Login))
	}
	var err error
	o.Login, err = member.ReadLogin(s.Login)
	return o, err
}
