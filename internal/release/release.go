// Package release reports the version of this program. Its input is what the build recorded, its output some words. It never
// reads a file.
package release

import "runtime/debug"

// Version is the version of the module that the program was built of, or the commit of a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "devel"
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	if commit, _ := commitOf(info); commit != "" {
		return "devel-" + commit[:min(12, len(commit))]
	}
	return "devel"
}

// Commit is the commit that the program was built of and its time (RFC 3339); both are empty for a build without version
// control. A commit whose files were changed before the build ends with "+dirty".
func Commit() (commit, time string) {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "", ""
	}
	return commitOf(info)
}

func commitOf(info *debug.BuildInfo) (commit, time string) {
	dirty := ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			commit = s.Value
		case s.Key == "vcs.time":
			time = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			dirty = "+dirty"
		}
	}
	if commit == "" {
		return "", ""
	}
	return commit + dirty, time
}
