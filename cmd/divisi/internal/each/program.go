package each

import (
	"os"
	"path"
	"path/filepath"
	"strings"

	"divisi/internal/usage"
)

// maxScript bounds a script that goes into the role, in bytes: an argument of a program holds little more.
const maxScript = 100 << 10

// inline are the options by which interpreters take their script as an argument; a shell takes its name behind it.
var inline = map[string]string{
	"sh": "-c", "bash": "-c", "dash": "-c", "zsh": "-c", "python": "-c", "python3": "-c",
	"perl": "-e", "ruby": "-e", "node": "-e",
}

// embed puts the text of a script outside of the repository into its command: work trees do not have it. Other commands stay.
func embed(command []string, top string) ([]string, error) {
	if len(command) == 0 || !strings.Contains(command[0], "/") {
		return command, nil
	}
	file, err := filepath.Abs(command[0])
	if err != nil {
		return command, nil //nolint:nilerr // it is told where it is missing
	}
	if in, err := filepath.Rel(top, file); err == nil && filepath.IsLocal(in) { // from the commit, at whose top it runs
		return append([]string{"./" + filepath.ToSlash(in)}, command[1:]...), nil
	}
	info, err := os.Stat(file)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxScript {
		return command, nil //nolint:nilerr // it is told where it is missing
	}
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, usage.Errorf("read the program: %v", err)
	}
	text := string(data)
	line, _, _ := strings.Cut(text, "\n")
	words := strings.Fields(strings.TrimPrefix(line, "#!"))
	if len(words) > 1 && path.Base(words[0]) == "env" {
		words = words[1:]
	}
	if !strings.HasPrefix(line, "#!") || len(words) == 0 || inline[path.Base(words[0])] == "" || strings.ContainsRune(text, 0) {
		return command, nil
	}
	name := path.Base(words[0])
	out := append(words, inline[name], text)
	switch name {
	case "perl", "ruby":
		out = append(out, "--")
	case "node":
		out = append(out, "--", path.Base(file))
	case "python", "python3":
	default:
		out = append(out, path.Base(file))
	}
	return append(out, command[1:]...), nil
}
