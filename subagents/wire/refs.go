package wire

// Refs are the names that the git directory of a tree has beside its commit, and the user's settings of line ends: package git
// checks them.
type Refs struct {
	Branch   string `json:"branch"`
	Remote   string `json:"remote"`
	Default  string `json:"default"`
	Main     string `json:"main,omitempty"`
	Upstream string `json:"upstream,omitempty"`
	Init     string `json:"init,omitempty"`
	AutoCRLF string `json:"autocrlf,omitempty"`
	EOL      string `json:"eol,omitempty"`
}

// Past is the history before the base that the trees of other machines have, as commits and tags alone: package git checks it.
type Past struct {
	// Tags are lines of git's packed-refs; Shallow are the commits with which it begins, where the user's clone has no more.
	Tags    string   `json:"tags,omitempty"`
	Shallow []string `json:"shallow,omitempty"`
}
