package configs

import (
	"fmt"
	"strings"

	"divisi/internal/spec"
)

// Starter returns the text of a role file to begin with: the built-in role's own for its name, else a commented one. The error
// is a *FileError for a name that no role can have.
func Starter(name string) (string, error) {
	file := "starter.md"
	if spec.BuiltInRole(name) {
		file = "roles/" + name + ".md"
	}
	text, err := embedded.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("read the built-in %s: %w", file, err)
	}
	starter := strings.Replace(string(text), "name: NAME", "name: "+name, 1)
	if _, err := ParseRole(name+".md", starter); err != nil {
		return "", err
	}
	return starter, nil
}
