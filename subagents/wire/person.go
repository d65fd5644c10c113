package wire

import (
	"strings"

	"divisi/bus"
)

// anyPerson replaces a person's identity for a model, and begins each identity of a person.
const anyPerson = "user"

// maxPerson bounds the name of a person, in bytes.
const maxPerson = 64

// Person is the identity of a person as an author: user:<name>. A byte of the name that no token may have becomes a hyphen, and
// what is too long is cut; without a name it is user. It tells who wrote, and gives no right.
func Person(name string) string {
	token := []byte(name[:min(len(name), maxPerson)])
	for i := range token {
		if !bus.ValidToken(string(token[i : i+1])) {
			token[i] = '-'
		}
	}
	if len(token) == 0 {
		return anyPerson
	}
	return anyPerson + ":" + string(token)
}

// IsPerson reports whether an author is the identity of a person; other authors are agents and policies.
func IsPerson(author string) bool {
	name, ok := strings.CutPrefix(author, anyPerson+":")
	return author == anyPerson || ok && len(name) <= maxPerson && bus.ValidToken(name)
}

// Speaker is an author as a model reads it: no model is told the name of a person.
func Speaker(author string) string {
	if IsPerson(author) {
		return anyPerson
	}
	return author
}

// through stands between the name of a person and that of the program that writes for that person.
const through = "--mcp-"

// Through is the name of a person who acts through a client of the Model Context Protocol: for Person, as every name. Bytes
// of the client's name that no token may have become hyphens. A long name of the person is cut, so that the program is always
// told.
func Through(name, client string) string {
	return name[:min(len(name), maxPerson-len(through)-1)] + through + strings.TrimPrefix(Person(client), anyPerson+":")
}

// ByProgram reports whether an author is a person for whom a program acts.
func ByProgram(author string) bool { return IsPerson(author) && strings.Contains(author, through) }

// Vouched is the identity of a person whose name a server vouches for, in place of what the author of a request says. Of that
// only the program that writes for the person stays.
func Vouched(name, author string) string {
	if _, client, found := strings.Cut(author, through); found {
		name = Through(name, client)
	}
	return Person(name)
}
