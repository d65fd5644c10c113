package wire

// Refs are the names that the git directory of a tree has beside its commit, and the user's settings of line ends: package git
// checks them.
type Refs struct {
	Branch   string `json:"branch"`
	Remote   string `json:"remote"`
	Default  string `json:"default"`
	Init     string `json:"init,omitempty"`
	AutoCRLF string `json:"autocrlf,omitempty"`
	EOL      string `json:"eol,omitempty"`
}
