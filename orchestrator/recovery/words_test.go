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
		"build: a.ts: cannot find name 'load'":                                             "load",
		"lint: a.ts:1:2: error TS2339: Property 'load' does not exist on type 'Store'":     "load",
		"a.rs: error[E0425]: cannot find function `load` in this scope":                    "load",
		"NameError: name 'load' is not defined":                                            "load",
		"a.java:3: error: cannot find symbol: method load(int)":                            "load",
		"build: a.go: x.load undefined (type T has no field or method load)":               "load",
		`build: a.go: "os" imported and not used`:                                          "",
		"build: a.go: declared and not used: err":                                          "",
		"build: a.go: missing return":                                                      "",
		"build: a.go: any requires go1.18 or later (-lang was set to go1.N; check go.mod)": "",
		"test: example.com/m TestLoad":                                                     "",
	} {
		require.Equal(t, want, missing(spec.Fault{Signatures: []string{signature}}), signature)
	}
}
