package needs

import (
	"maps"
	"os"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Secrets are the values in Divisi's own environment that look like secrets, and those that the run names as such: the keys of
// models, secrets of roles, headers of tool servers.
func Secrets(s *run.Spec) []string {
	given := map[string]bool{}
	for _, m := range s.Project.Models {
		given[m.KeyEnv] = true
	}
	for _, role := range s.Roles {
		for _, name := range role.Secrets {
			given[name] = true
		}
		for _, server := range s.Project.Servers(&role) {
			for name := range maps.Values(server.Headers) {
				given[name] = true
			}
		}
	}
	var out []string
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); given[name] || spec.SecretName(name) {
			out = append(out, value)
		}
	}
	return out
}
