package tester

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgramsOfACommand(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"go|test|./...":                                 "go",
		"env|--chdir=tools|GOWORK=off|go|vet":           "go",
		"npm|test|--|--reporter|tap":                    "npm node",
		".venv/bin/python|-m|pytest":                    ".venv/bin/python",
		"./gradlew|test":                                "./gradlew java",
		"sh|-c|cd a && npx tsc; python3 x go":           "sh npx node python3 go",
		"sh|check.sh":                                   "sh",
		"bash|-ec|cargo test\ncargo clippy":             "bash cargo rustc",
		"/opt/tool|go":                                  "/opt/tool",
		"sh|-c|bun cc cmake composer deno dotnet gcc x": "sh bun cc cmake composer php deno dotnet gcc",
	} {
		require.Equal(t, strings.Fields(want), namesOf(strings.Split(command, "|")), command)
	}
}
