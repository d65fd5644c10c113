package spec

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Grade is how far gates read a changed file.
type Grade string

// The grades, the best first. GradeUnknown is that of a file that something opened and that no tool names.
const (
	GradeRan      Grade = "ran"
	GradeCompiled Grade = "compiled"
	GradeOpened   Grade = "opened"
	GradeUnread   Grade = "unread"
	GradeUnknown  Grade = "not known"
)

// MaxUnread is how many unread files a receipt has; of those after them it has the number.
const MaxUnread = 5000

// OwnDir has Divisi's own files of a repository. As an unread file of a gate on the base commit it stands for all of them, and
// for the history: the gate has neither opened one, or a directory there, nor asked git.
const OwnDir = ".divisi"

// Unread is a changed file that a gate did not read as its kind needs: a source file of a compiled language must be
// compiled, one of another language run or imported, any other file opened.
type Unread struct {
	Path  string `json:"path"`
	Grade Grade  `json:"grade"`
	// Source reports whether it is source code of a programming language: not data or prose.
	Source bool `json:"source,omitempty"`
	// Reason is why in a few words, such as a build constraint; empty where it is not known.
	Reason string `json:"reason,omitempty"`
	// Command would read it; empty where none is known.
	Command []string `json:"command,omitempty"`
}

// MarshalJSON writes a name that is not UTF-8 in quotation marks, as that of a patch.
func (u Unread) MarshalJSON() ([]byte, error) {
	type plain Unread // without this method
	u.Path = quoted([]string{u.Path})[0]
	return json.Marshal(plain(u))
}

// UnmarshalJSON reads it.
func (u *Unread) UnmarshalJSON(data []byte) error {
	type plain Unread // without this method
	if err := json.Unmarshal(data, (*plain)(u)); err != nil {
		return err
	}
	names, err := unquoted([]string{u.Path})
	if err == nil {
		u.Path = names[0]
	}
	return err
}

// UnreadOf returns how the gate read a changed file: nil where it read it as its kind needs, or where the receipt is of a
// version without grades.
func (r *Receipt) UnreadOf(name string) *Unread {
	at, found := slices.BinarySearchFunc(r.Unread, name, func(u Unread, name string) int { return strings.Compare(u.Path, name) })
	switch {
	case found:
		return &r.Unread[at]
	case r.UnreadRest > 0 && at == len(r.Unread):
		rest := fmt.Sprintf("one of the last of %d files that its gate did not read", len(r.Unread)+r.UnreadRest)
		return &Unread{Path: name, Grade: GradeUnknown, Source: true, Reason: rest}
	}
	return nil
}

func (r *Receipt) unreadProblems(v *problems, at string) {
	for i, u := range r.Unread {
		at := fmt.Sprintf("%s.unread[%d]", at, i)
		if problem := placeProblem(u.Path); problem != "" {
			v.addf(at+".path", "", "%q: %s", u.Path, problem)
		}
		if i > 0 && u.Path <= r.Unread[i-1].Path {
			v.addf(at, "", "unread files are not sorted and unique")
		}
		v.oneOf(at+".grade", "grade", string(u.Grade), string(GradeRan), string(GradeCompiled), string(GradeOpened),
			string(GradeUnread), string(GradeUnknown))
	}
	if len(r.Unread) > MaxUnread {
		v.addf(at+".unread", "", "%d unread files are more than %d", len(r.Unread), MaxUnread)
	}
}
