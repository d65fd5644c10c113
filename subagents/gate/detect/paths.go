package detect

import "strings"

// paths are those of the gate of a project below the top: none where a file above it may join it to others, so that each change
// starts the gate, and none without init. What the gate opens in the trial tells of other links.
func (d *detector) paths(dir string) []string {
	joined := d.home(dir, "go.work", "package.json", "pnpm-workspace.yaml", "lerna.json", "Cargo.toml", "pom.xml",
		"settings.gradle", "settings.gradle.kts", "CMakeLists.txt", "meson.build")
	if !d.Whole || dir == "." || joined != "" || strings.ContainsAny(dir, `*?[{\`) {
		return nil
	}
	return []string{dir + "/**"}
}
