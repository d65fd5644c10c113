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

// red is the receipt of a test runner in which other tests passed.
func red(signatures ...string) spec.Receipt {
	return spec.Receipt{ExitCode: 1, Signatures: signatures, Kind: spec.KindTests, Tests: len(signatures) + 1, Passed: 1}
}

// hides adds to a receipt what did not run.
func hides(r spec.Receipt, what ...string) spec.Receipt {
	r.Hidden = what
	return r
}

// kind makes a receipt that of a gate of a kind, in which no test passed.
func kind(of string, r spec.Receipt) spec.Receipt {
	r.Kind, r.Passed = of, 0
	return r
}

func TestJudge(t *testing.T) {
	t.Parallel()
	green, tested := spec.Receipt{}, spec.Receipt{Kind: spec.KindTests, Tests: 3, Passed: 3}
	late := func(r spec.Receipt) spec.Receipt { r.TimedOut, r.ExitCode = true, -1; return r }
	ptr := func(r spec.Receipt) *spec.Receipt { return &r }
	mute, garbled := red(), red("error: lint failed")
	for name, c := range map[string]struct {
		receipt  spec.Receipt
		baseline *spec.Receipt
		want     string
	}{
		"green":                              {green, nil, spec.VerdictPass},
		"green over red":                     {tested, ptr(red("test: a")), spec.VerdictPass},
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
		"hides a package of its own":         {hides(red("test: a"), "package: p"), ptr(red("test: a")), spec.VerdictFail},
		"hides what was hidden":              {hides(red("test: a"), "package: p"), ptr(hides(red("test: a"), "package: p", "x_test.py")), spec.VerdictBaseline},
		"hides one more":                     {hides(red("test: a"), "package: p", "y"), ptr(hides(red("test: a"), "package: p")), spec.VerdictFail},
		"hides all over a package":           {hides(red("test: a"), "*"), ptr(hides(red("test: a"), "package: p")), spec.VerdictFail},
		"hides as much as it can":            {hides(red("test: a"), "*"), ptr(hides(red("test: a"), "*")), spec.VerdictUnattributable},
		"hides less":                         {red("test: a"), ptr(hides(red("test: a"), "package: p")), spec.VerdictBaseline},
		"tests behind a mended build":        {red("test: t"), ptr(hides(red("build: a"), "package: p")), spec.VerdictFail},
		"no test passed, as before":          {kind(spec.KindTests, red("test: a")), ptr(kind(spec.KindTests, red("test: a"))), spec.VerdictUnattributable},
		"findings, as before":                {kind(spec.KindFindings, red("a.go: x")), ptr(kind(spec.KindFindings, red("a.go: x"))), spec.VerdictBaseline},
		"a new finding":                      {kind(spec.KindFindings, red("a.go: y")), ptr(kind(spec.KindFindings, red("a.go: x"))), spec.VerdictFail},
		"a script that prints a place":       {kind("", red("a.go: x")), ptr(kind("", red("a.go: x"))), spec.VerdictUnattributable},
		"green without a test":               {spec.Receipt{Kind: spec.KindTests}, &tested, spec.VerdictFail},
		"green without a word":               {green, &tested, spec.VerdictFail},
		"green without a test as ever":       {spec.Receipt{Kind: spec.KindTests}, &spec.Receipt{Kind: spec.KindTests}, spec.VerdictPass},
		"narrowed to nothing":                {spec.Receipt{Kind: spec.KindTests, Since: "c"}, &tested, spec.VerdictPass},
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
			r.Hidden = rapid.SliceOfDistinct(rapid.SampledFrom([]string{"*", "p", "q"}), rapid.ID).Draw(t, name+"hidden")
			r.Passed, r.TimedOut = rapid.IntRange(0, 1).Draw(t, name+"passed"), rapid.Bool().Draw(t, name+"late")
			r.Kind = rapid.SampledFrom([]string{"", spec.KindTests, spec.KindFindings}).Draw(t, name+"kind")
			return r
		}
		r, baseline := draw("receipt"), draw("baseline")
		verdict, fresh := Judge(r, &baseline), NewSignatures(r, &baseline)
		require.NotEqual(t, spec.VerdictPass, verdict)
		require.Equal(t, spec.VerdictFail, Judge(r, nil))
		if len(fresh) > 0 {
			require.Equal(t, spec.VerdictFail, verdict)
		}
		if verdict == spec.VerdictUnattributable {
			require.NotEmpty(t, Incomparable(baseline), "only a gate that could not be compared on the base is not attributed")
		}
		if verdict == spec.VerdictBaseline {
			require.Empty(t, Incomparable(baseline))
			require.Empty(t, Incomparable(r))
			require.Subset(t, baseline.Signatures, r.Signatures)
			require.Subset(t, baseline.Hidden, r.Hidden)
			require.True(t, baseline.Kind == spec.KindFindings || baseline.Passed > 0, "what compares has shown that it works")
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
