package stage

import (
	"slices"
	"strings"
)

// Lookup returns the last value of a name in an environment, or "".
func Lookup(env []string, name string) string {
	value, _ := Find(env, name)
	return value
}

// Find returns the last value of a name in an environment, and whether there is one.
func Find(env []string, name string) (value string, ok bool) {
	for _, entry := range slices.Backward(env) {
		if key, value, ok := strings.Cut(entry, "="); ok && key == name {
			return value, true
		}
	}
	return "", false
}
