package testsource

import (
	"strings"
	"unicode"
)

// Quoted is a string or a comment in a line of code.
var Quoted = re("\"(?:\\\\.|[^\"\\\\])*\"|'(?:\\\\.|[^'\\\\])*'|`[^`]*`|//.*$|^#.*$")

// Identifiers are the names in a line of code, without strings and comments.
func Identifiers(code string) []string {
	if strings.ContainsAny(code, "\"'`/#") {
		code = Quoted.ReplaceAllString(code, " ")
	}
	return strings.FieldsFunc(code, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}
