package ci

import (
	"cmp"
	_ "embed"
	"strings"
	"sync"

	"divisi/internal/lazyregexp"
)

//go:embed words.txt
var wordList string

// phrases are the sections of words.txt, by name.
var phrases = sync.OnceValue(func() map[string][]string {
	sections, name := map[string]string{}, ""
	for line := range strings.Lines(wordList) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.HasPrefix(line, "["):
			name = strings.Trim(line, "[]")
		default:
			sections[name] += line + " "
		}
	}
	all := map[string][]string{}
	for name, text := range sections {
		for phrase := range strings.SplitSeq(text, "|") {
			all[name] = append(all[name], strings.TrimSpace(phrase))
		}
	}
	return all
})

var inputUse = lazyregexp.New(`\{[^}]*\}`)

// filled is the command that a section has for a name, with values of inputs put in.
func filled(section, name string, inputs map[string]string) (command string, is bool) {
	for _, phrase := range phrases()[section] {
		known, command, _ := strings.Cut(phrase, ": ")
		if strings.EqualFold(known, name) {
			return strings.TrimSpace(replaced(inputUse, command, func(use string) string {
				key, otherwise, _ := strings.Cut(strings.Trim(use, "{}"), "?")
				return cmp.Or(inputs[key], inputs[otherwise], otherwise)
			})), true
		}
	}
	return "", false
}

// begins reports whether a command begins with one of the phrases of a section.
func begins(command, section string) bool {
	for _, phrase := range phrases()[section] {
		if rest, ok := strings.CutPrefix(command, phrase); ok && (rest == "" || rest[0] == ' ') {
			return true
		}
	}
	return false
}
