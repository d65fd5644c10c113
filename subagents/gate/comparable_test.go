package gate

import (
	"testing"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestIncomparable(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		receipt spec.Receipt
		want    string
	}{
		"green":               {spec.Receipt{Signatures: nil}, ""},
		"a test":              {red("test: p TestA"), ""},
		"a file":              {red("src/a b/zoë.ts: error TS1: x"), ""},
		"a file in a message": {red("error: unused in lib.rs"), ""},
		"one of two":          {red("error: lint failed", "test: a"), ""},
		"nothing":             {red(), "it fails, and its output names no test and no file that failed"},
		"a general line":      {red("error: lint failed"), "it fails, and its output names no test and no file that failed"},
		"a test with no name": {red("test: "), "it fails, and its output names no test and no file that failed"},
		"a package":           {hides(red("test: a"), "package: p"), ""},
		"who knows":           {hides(red("test: a"), "*"), "not everything ran, and the missing tests are not known"},
		"no build": {
			spec.Receipt{ExitCode: 1, Build: true, Hidden: []string{"*"}}, "it does not build, and the tests that did not run are not known",
		},
		"no test":     {spec.Receipt{ExitCode: 1, Kind: spec.KindTests}, "no test ran"},
		"none passed": {kind(spec.KindTests, red("test: a")), "no test passed: its failures do not show what they hide"},
		"a finding":   {kind(spec.KindFindings, red("a.go: x")), ""},
		"a script": {
			kind("", red("a.go: x")),
			"it fails, and its output names no test that passed (a linter or compiler needs `format: findings`)",
		},
		"late":           {spec.Receipt{TimedOut: true}, "it timed out"},
		"killed":         {red("gate: killed because it used too much memory"), "it did not run to its end"},
		"tests left out": {red("plan: fewer tests ran than were planned", "test: a"), "it did not run to its end"},
		"too many":       {red(overflowSignature, "test: a"), "it has more failures than can be listed"},
	} {
		require.Equal(t, c.want, Incomparable(c.receipt), name)
		for i, signature := range c.receipt.Signatures {
			c.receipt.Signatures[i] = Masked(signature, "0a1b2c")
		}
		require.Equal(t, c.want, Incomparable(c.receipt), "%s, masked: %q", name, c.receipt.Signatures)
	}
}
