package store

import "divisi/bus"

// Server is where the halves of a run meet: the URL of a NATS server, and the path of the file that logs in there; "" for none.
type Server struct{ URL, Login string }

// Options are those of every connection to the server.
func (s Server) Options() bus.Options { return bus.Options{URL: s.URL, Credentials: s.Login} }
