package recovery

import (
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/internal/spec"
)

func TestOnlyANameIsMissing(t *testing.T) {
	t.Parallel()
	for signature, want := range map[string]string{
		"build: a.go: undefined: legacy.Load":                                              "legacy.Load",
		"build: a.ts: cannot find name 'load'":                                             "'load'",
		"build: a.go: any requires go1.18 or later (-lang was set to go1.N; check go.mod)": "",
		"test: example.com/m TestLoad":                                                     "",
	} {
		require.Equal(t, want, missing(spec.Fault{Signatures: []string{signature}}), signature)
	}
}
