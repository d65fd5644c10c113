package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// EnvironmentCheckout is the word for all paths of the user's checkout that git ignores.
const EnvironmentCheckout = "checkout"

// maxEnvironment bounds the paths that one run takes from the checkout: each is a layer of every tree.
const maxEnvironment = 500

// Environment are ignored paths of the user's own checkout that every tree of a run has, in place of what a setup makes. A file
// writes the word checkout, for all of them, or a list.
type Environment struct {
	// Word is checkout, until the paths are known.
	Word  string   `json:"-" file:"-"`
	Paths []string `json:"-" file:"-"`
}

// IsZero reports whether nothing is taken from the checkout.
func (e Environment) IsZero() bool { return e.Word == "" && len(e.Paths) == 0 }

// UnmarshalJSON implements json.Unmarshaler.
func (e *Environment) UnmarshalJSON(data []byte) error {
	*e = Environment{}
	if json.Unmarshal(data, &e.Word) == nil {
		return nil
	}
	return json.Unmarshal(data, &e.Paths)
}

// MarshalJSON implements json.Marshaler.
func (e Environment) MarshalJSON() ([]byte, error) {
	if len(e.Paths) > 0 {
		return json.Marshal(e.Paths)
	}
	return json.Marshal(e.Word)
}

// problems faults what is no single path below the checkout, and what is never taken from it.
func (e *Environment) problems(v *problems) {
	v.oneOf("environment", "environment", e.Word, EnvironmentCheckout)
	if len(e.Paths) > maxEnvironment {
		v.addf("environment", "", "%d paths are more than the %d that a run takes: name the directories that hold them",
			len(e.Paths), maxEnvironment)
		return
	}
	for i, name := range e.Paths {
		at := fmt.Sprintf("environment[%d]", i)
		bare := strings.TrimSuffix(name, "/")
		problem, instead := globProblem(bare)
		switch {
		case strings.ContainsAny(name, "*?[{"):
			v.addf(at, "", "%q is a glob: the list names single files and directories", name)
		case bare == ".":
			v.addf(at, "", "%q is the whole checkout: name the ignored paths that gates need, or write `environment: %s`", name,
				EnvironmentCheckout)
		case problem != "":
			v.addf(at, instead, "%q: %s", name, problem)
		case bare != name:
			v.addf(at, bare, "%q: a directory is written without a slash at its end", name)
		case SecretPath(name):
			v.addf(at, "", "%q is never taken: its name is that of keys, credentials or variables", name)
		}
	}
	for i, name := range e.Paths {
		for _, other := range e.Paths {
			if strings.HasPrefix(name, other+"/") {
				v.addf(fmt.Sprintf("environment[%d]", i), "", "%q lies in %q, which is in the list too", name, other)
			}
		}
		if slices.Index(e.Paths, name) != i {
			v.addf(fmt.Sprintf("environment[%d]", i), "", "%q is in the list twice", name)
		}
	}
}
