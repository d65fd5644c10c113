package mcp

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strings"

	"divisi/internal/spec"
)

// maxName is how many characters a function's name may have. Gemini takes dots and colons as well, other services do not.
const maxName = 64

// toolNames gives every tool of a server, by its own name, the name that the model calls it by: mcp_<server>_<tool>. Each is
// unique, has at most 64 characters of a-z, A-Z, 0-9, _ and -, and depends on the set of tools alone, not on their order. A tool
// whose name has to be changed and is then another's gets a part of its hash. Empty names and those whose hash is another tool's
// name are left out.
func toolNames(server string, tools []string) map[string]string {
	prefix := spec.MCPPrefix + server + "_"
	wanted := map[string]int{}
	for _, tool := range tools {
		wanted[prefix+plain(tool)]++
	}
	names, taken := make(map[string]string, len(tools)), map[string]bool{}
	sorted := slices.Sorted(slices.Values(tools))
	for _, exact := range []bool{true, false} { // what needs no change goes first
		for _, tool := range sorted {
			name := prefix + plain(tool)
			if tool == "" || names[tool] != "" || exact != (plain(tool) == tool && len(name) <= maxName) {
				continue
			}
			if !exact && (wanted[name] > 1 || len(name) > maxName) {
				name = hashed(name, tool)
			}
			if !taken[name] {
				names[tool], taken[name] = name, true
			}
		}
	}
	return names
}

func plain(tool string) string {
	return strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, tool)
}

func hashed(name, tool string) string {
	sum := sha256.Sum256([]byte(tool))
	tail := "_" + hex.EncodeToString(sum[:4])
	return name[:min(len(name), maxName-len(tail))] + tail
}
