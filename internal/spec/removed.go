package spec

import "fmt"

// removed are fields, values and tools that files of an older version of Divisi could name, with what to write instead. A key is
// "field NAME", "tool NAME", or the name of a field and its value.
var removed = map[string]string{
	"tier flex":        "use standard or priority, or leave it out",
	"tool apply_patch": "list edit_file, which takes several edits in several files",
	"model embedding":  "remove the alias, notes are found by their words and tags",
}

// Removed explains what an older version accepted; empty for everything else.
func Removed(what, name string) string {
	instead, ok := removed[what+" "+name]
	if !ok {
		return ""
	}
	return fmt.Sprintf("%s %q was removed: %s", what, name, instead)
}
