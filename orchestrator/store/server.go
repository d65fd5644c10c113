package store

import (
	"path/filepath"

	"divisi/bus"
	"divisi/bus/member"
)

// Server is where the halves of a run meet: the URL of a NATS server, and the path of the file that logs in there; "" for
// none. It is a login of Divisi, a file of NATS credentials, whose name ends in .creds, or the server.json of a process on
// this machine.
type Server struct{ URL, Login string }

// Options are those of every connection to the server.
func (s Server) Options() (bus.Options, error) {
	o := bus.Options{URL: s.URL}
	if s.Login == "" || filepath.Ext(s.Login) == ".creds" {
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
