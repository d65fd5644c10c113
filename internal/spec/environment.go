package spec

import (
	"encoding/json"
	"fmt"
	"path"
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

// litter are names of ignored paths that no gate needs: caches that tools make again, and what editors leave.
var litter = strings.Fields(`__pycache__ .pytest_cache .mypy_cache .ruff_cache .eslintcache .DS_Store .idea .vscode .coverage
	*.pyc *.swp *~ *.log *.tsbuildinfo`)

// Name names the paths in the place of the word: those that git ignores, where a directory may end in a slash. What is never
// taken, and what no gate needs, is left out. The word stays where nothing is left.
func (e *Environment) Name(ignored []string) error {
	var paths []string
	for _, name := range ignored {
		name = strings.TrimSuffix(name, "/")
		isLitter := slices.ContainsFunc(litter, func(pattern string) bool {
			is, err := path.Match(pattern, path.Base(name))
			return is && err == nil
		})
		if !isLitter && !SecretPath(name) && pathProblem(name) == "" {
			paths = append(paths, name)
		}
	}
	if n := len(paths); n > maxEnvironment {
		return fmt.Errorf("git ignores %d paths of the checkout, and a run takes at most %d: name those that gates need",
			n, maxEnvironment)
	}
	if len(paths) > 0 {
		slices.Sort(paths)
		*e = Environment{Paths: paths}
	}
	return nil
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
