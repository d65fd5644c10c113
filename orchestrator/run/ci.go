package run

// CI reports how much of a repository's continuous integration the gates run, as the files of the base commit showed it.
type CI struct {
	Commands int `json:"commands"`
	// Run are as many of them as are gates, or are covered by gates. Unrun are the others.
	Run   int     `json:"run"`
	Unrun []Unrun `json:"unrun,omitempty"`
}

// Unrun is a command of CI that no gate runs.
type Unrun struct {
	Command string `json:"command"`
	// Place is its file with the line, Why a reason.
	Place string `json:"place"`
	Why   string `json:"why"`
	// Paths are globs of the files that it is for; none where that is not known.
	Paths []string `json:"paths,omitempty"`
}
