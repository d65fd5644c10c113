package gate

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestUncached(t *testing.T) {
	t.Parallel()
	for command, want := range map[string]string{
		"go test ./...":             "go test -count=1 ./...",
		"go -C dir test -json ./..": "go -C dir test -count=1 -json ./..",
		"env A=1 go test ./x":       "env A=1 go test -count=1 ./x",
		"go vet ./...":              "go vet ./...",
		"npm test":                  "npm test",
		"cargo test":                "cargo test",
	} {
		gates := []spec.Gate{{Name: "g", Command: strings.Fields(command)}}
		require.Equal(t, want, strings.Join(Uncached(gates)[0].Command, " "))
		require.Equal(t, command, strings.Join(gates[0].Command, " "), "the given ones stay")
	}
}
