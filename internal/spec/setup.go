package spec

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Setup is a command that makes the environment of every later command: what it leaves in paths that git ignores, in
// $DIVISI_TOOLS and in the caches. A file may write the command alone.
type Setup struct {
	Command []string `json:"command,omitempty" jsonschema:"Program and arguments."`
	Key     []string `json:"key,omitempty" jsonschema:"Files that decide what the command leaves, e.g. go.sum: while they are the same it does not run again."`
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *Setup) UnmarshalJSON(data []byte) error {
	type plain Setup
	*s = Setup{}
	if json.Unmarshal(data, &s.Command) == nil {
		return nil
	}
	return json.Unmarshal(data, (*plain)(s))
}

// MarshalJSON implements json.Marshaler.
func (s Setup) MarshalJSON() ([]byte, error) {
	type plain Setup
	if len(s.Key) == 0 {
		return json.Marshal(s.Command)
	}
	return json.Marshal(plain(s))
}

// problems faults a key that names no single file of the repository. Whether the file exists is checked on the base commit.
func (s *Setup) problems(v *problems) {
	at := "setup"
	if len(s.Key) > 0 {
		at = "setup.command"
	}
	v.argv(at, s.Command)
	if len(s.Key) > 0 && len(s.Command) == 0 {
		v.addf("setup.key", "", "setup.key needs setup.command")
	}
	for i, name := range s.Key {
		path := fmt.Sprintf("setup.key[%d]", i)
		switch problem, instead := globProblem(name); {
		case strings.ContainsAny(name, "*?[{"):
			v.addf(path, "", "%q is a glob: the key names single files", name)
		case strings.HasSuffix(name, "/") || name == ".":
			v.addf(path, "", "%q is a directory: the key names single files", name)
		case problem != "":
			v.addf(path, instead, "%q: %s", name, problem)
		}
	}
}
