package spec

import "fmt"

// removed are values of role and project files that an older version of Divisi accepted, with what to write instead.
var removed = map[string]string{
	"tier flex":       "use standard or priority, or leave it out",
	"model embedding": "remove the alias, notes are found by their words and tags",
}

// Removed explains a value that an older version accepted; empty for every other value.
func Removed(what, value string) string {
	instead, ok := removed[what+" "+value]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %q was removed: %s", what, value, instead)
}
