// Package release is the version of this program. Its input is what the build recorded, its output one word. It never reads a
// file.
package release

import "runtime/debug"

// Version is the version of the module that the program was built of, or the commit of a build from a checkout.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	switch {
	case !ok:
		return "devel"
	case info.Main.Version != "" && info.Main.Version != "(devel)":
		return info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return "devel-" + s.Value[:min(12, len(s.Value))]
		}
	}
	return "devel"
}
