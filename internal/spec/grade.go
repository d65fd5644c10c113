package spec

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

// Unread is a changed file that a gate did not read as far as its kind needs: a source file of a compiled language must be
// compiled, one of another language run or imported, any other file opened.
type Unread struct {
	Path  string `json:"path"`
	Grade Grade  `json:"grade"`
	// Reason is why in a few words, such as a build constraint; empty where it is not known.
	Reason string `json:"reason,omitempty"`
	// Command would read it; empty where none is known.
	Command []string `json:"command,omitempty"`
}
