package gate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func red(signatures ...string) spec.Receipt { return spec.Receipt{ExitCode: 1, Signatures: signatures} }

func TestJudge(t *testing.T) {
	t.Parallel()
	green, builds := spec.Receipt{}, func(r spec.Receipt) spec.Receipt { r.Build = true; return r }
	late := func(r spec.Receipt) spec.Receipt { r.TimedOut, r.ExitCode = true, -1; return r }
	ptr := func(r spec.Receipt) *spec.Receipt { return &r }
	mute, garbled := red(), red("error: lint failed")
	for name, c := range map[string]struct {
		receipt  spec.Receipt
		baseline *spec.Receipt
		want     string
	}{
		"green":                              {green, nil, spec.VerdictPass},
		"green over red":                     {green, ptr(red("test: a")), spec.VerdictPass},
		"red, no baseline":                   {red("test: a"), nil, spec.VerdictFail},
		"red over green":                     {red("test: a"), &green, spec.VerdictFail},
		"unparsed over green":                {mute, &green, spec.VerdictFail},
		"same":                               {red("a.go: x", "test: b"), ptr(red("a.go: x", "test: b")), spec.VerdictBaseline},
		"fewer":                              {red("test: b"), ptr(red("test: a", "test: b")), spec.VerdictBaseline},
		"one more":                           {red("test: a", "test: c"), ptr(red("test: a", "test: b")), spec.VerdictFail},
		"unparsed over red":                  {mute, ptr(red("test: a")), spec.VerdictFail},
		"unparsed over unparsed":             {mute, &mute, spec.VerdictUnattributable},
		"parsed over unparsed red":           {red("test: a"), &mute, spec.VerdictFail},
		"a line of any failure over itself":  {garbled, &garbled, spec.VerdictUnattributable},
		"a line of any failure, others gone": {garbled, ptr(red("error: lint failed", "test: a")), spec.VerdictFail},
		"build failure over failing tests":   {builds(red("test: a")), ptr(red("test: a")), spec.VerdictFail},
		"new build failure":                  {builds(red("build: b")), ptr(builds(red("build: a"))), spec.VerdictFail},
		"same build failure":                 {builds(red("build: a")), ptr(builds(red("build: a"))), spec.VerdictUnattributable},
		"tests behind a mended build":        {red("test: t"), ptr(builds(red("build: a"))), spec.VerdictFail},
		"timed out over red":                 {late(red("gate: timed out")), ptr(red("test: a")), spec.VerdictFail},
		"timed out like before": {
			late(red("gate: timed out")), ptr(late(red("gate: timed out"))), spec.VerdictUnattributable,
		},
		"killed like before": {
			red("gate: ended by signal killed"), ptr(red("gate: ended by signal killed")), spec.VerdictUnattributable,
		},
		"exit 0 but killed": {spec.Receipt{TimedOut: true}, nil, spec.VerdictFail},
		"more failures than can be counted": {
			red(overflowSignature, "test: a"), ptr(red(overflowSignature, "test: a")), spec.VerdictUnattributable,
		},
	} {
		require.Equal(t, c.want, Judge(c.receipt, c.baseline), name)
	}
}

func TestJudgeLaws(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		draw := func(name string) spec.Receipt {
			r := red(rapid.SliceOfDistinct(rapid.StringMatching(`(test: )?[a-d]`), rapid.ID).Draw(t, name)...)
			slices.Sort(r.Signatures)
			r.Build, r.TimedOut = rapid.Bool().Draw(t, name+"build"), rapid.Bool().Draw(t, name+"late")
			return r
		}
		r, baseline := draw("receipt"), draw("baseline")
		verdict, fresh := Judge(r, &baseline), NewSignatures(r, &baseline)
		require.NotEqual(t, spec.VerdictPass, verdict)
		require.Equal(t, spec.VerdictFail, Judge(r, nil))
		if len(fresh) > 0 {
			require.Equal(t, spec.VerdictFail, verdict)
		}
		if r.Build {
			require.NotEqual(t, spec.VerdictBaseline, verdict)
		}
		if verdict == spec.VerdictUnattributable {
			require.NotEmpty(t, Incomparable(baseline), "only a gate that could not be compared on the base is not attributed")
		}
		if verdict == spec.VerdictBaseline {
			require.Empty(t, Incomparable(baseline))
			require.Empty(t, Incomparable(r))
			require.Subset(t, baseline.Signatures, r.Signatures)
		}
	})
}

func TestExplain(t *testing.T) {
	t.Parallel()
	before := map[string]spec.Receipt{"go-test": red("test: p TestOld")}
	text := Explain([]spec.Receipt{
		{Gate: "go-build", Verdict: spec.VerdictPass, Tail: "fine"},
		{
			Gate: "go-test", Command: []string{"go", "test", "./..."}, ExitCode: 1, Verdict: spec.VerdictFail,
			Signatures: []string{"test: p TestNew", "test: p TestOld"}, Tail: "a_test.go:4: got 3, want 4",
		},
	}, before)
	require.Equal(t, `Gate go-test did not pass (exit code 1): go test ./...
Failures that this change brought (1; 1 were there before):
- test: p TestNew
Output:
a_test.go:4: got 3, want 4
`, text)
	require.Empty(t, Explain([]spec.Receipt{{Verdict: spec.VerdictBaseline, ExitCode: 1}}, nil))

	late := spec.Receipt{Gate: "g", TimedOut: true, Duration: 90 * time.Second, Verdict: spec.VerdictUnattributable}
	require.Contains(t, Explain([]spec.Receipt{late}, nil), "killed after 1m30s")
	require.Contains(t, Explain([]spec.Receipt{late}, nil), "No single failure could be made out")
	late.Build, late.TimedOut = true, false
	require.Contains(t, Explain([]spec.Receipt{late}, nil), "build failure")
}

func TestExplainIsBounded(t *testing.T) {
	t.Parallel()
	many := spec.Receipt{Gate: "g", ExitCode: 1, Verdict: spec.VerdictFail, Tail: strings.Repeat("é", maxTail)}
	for i := range 300 {
		many.Signatures = append(many.Signatures, strings.Repeat("s", 100)+string(rune('a'+i%26)))
	}
	text := Explain(slices.Repeat([]spec.Receipt{many}, 9), nil)
	require.LessOrEqual(t, len(text), maxExplained)
	require.Contains(t, text, "and 260 more")
	require.Contains(t, text, "more gates are left out")
}
