package environment

import (
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
)

// token is a word of a shell that stands for itself, or what is between commands.
var token = lazyregexp.New(`^[ \t\n]*(&&|\(|\)|(?:"\$DIVISI_TOOLS"|'[^']*'|[A-Za-z0-9_./=@:,+^-])+)`)

// namesFile matches a variable that tells a command to read a file, as BUNDLE_GEMFILE and PIP_CONSTRAINT do; addresses are none.
var namesFile = lazyregexp.New(`^[A-Za-z0-9_]+=(?:[^:]*[./][^:]*|[A-Za-z0-9_-]*file)$`)

// commandsOf are the commands of a setup: itself, or those of a shell's line that has nothing but words, cd, && and parentheses.
// Files are known by their base names, so it does not matter where one works. plain is false where the line has more; then
// these are the commands before that.
func commandsOf(setup []string) (commands [][]string, plain bool) {
	if !isLine(setup) {
		return [][]string{setup}, len(setup) > 0
	}
	var words []string
	inside, ofPip, file := false, false, false // pip names files by their paths
	end := func() {
		if len(words) > 1 && words[0] == "env" {
			words = words[1:]
		}
		for len(words) > 1 && strings.Contains(words[0], "=") {
			file = file || namesFile.MatchString(words[0])
			words = words[1:]
		}
		if len(words) > 0 && words[0] == "cd" {
			inside = true
		} else if len(words) > 0 {
			commands, ofPip = append(commands, words), ofPip || pips.MatchString(strings.Join(words, " "))
		}
		words = nil
	}
	line := setup[2]
	for strings.TrimSpace(line) != "" {
		found := token.FindStringSubmatch(line)
		if found == nil {
			end()
			return commands, false
		}
		line = line[len(found[0]):]
		switch word := found[1]; word {
		case "&&", "(", ")":
			end()
		default:
			words = append(words, strings.ReplaceAll(word, "'", ""))
		}
	}
	end()
	return commands, len(commands) > 0 && !file && (!inside || !ofPip)
}

// isLine reports whether a command is a line of a shell.
func isLine(command []string) bool {
	return len(command) == 3 && command[1] == "-c" && slices.Contains([]string{"sh", "bash"}, path.Base(command[0]))
}
