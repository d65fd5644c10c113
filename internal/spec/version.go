package spec

import (
	"path"

	"divisi/internal/lazyregexp"
)

// Program is a program by the path that commands find it at, with the version that it tells; "" for none.
type Program struct {
	Path    string `json:"path"`
	Version string `json:"version,omitempty"`
}

// VersionArg is the argument that has a program tell its version.
func VersionArg(program string) string {
	if path.Base(program) == "go" {
		return "version"
	}
	return "--version"
}

var version = lazyregexp.New(`\d+(?:\.\d+)+`)

// VersionIn is the version in the words of a program; "" for none.
func VersionIn(words string) string { return version.FindString(words) }
