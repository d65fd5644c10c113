package tester

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestMutantsAreCompiledAsTheGateDoes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		commands [][]string
		want     []string
	}{
		"no go": {[][]string{{"npm", "test"}, {"sh", "-c", "go test ./..."}}, nil},
		"plain": {[][]string{{"go", "build"}, {"go", "test", "-json", "./..."}}, nil},
		"tags":  {[][]string{{"/opt/go/bin/go", "test", "-tags=a,b", "-v", "-race", "./..."}}, []string{"-tags=a,b", "-race"}},
		"a word of its own": {[][]string{{"go", "test", "--tags", "a", "-mod", "vendor", "-run", "-race", "."}}, []string{
			"--tags", "a", "-mod", "vendor", "-race",
		}},
		"cut short": {[][]string{{"go", "test", "-tags"}}, []string{"-tags"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var gates []spec.Gate
			for _, command := range c.commands {
				gates = append(gates, spec.Gate{Command: command})
			}
			require.Equal(t, c.want, goFlags(gates))
		})
	}
}
