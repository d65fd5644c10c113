package acceptance

import (
	"encoding/json"
	"fmt"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance/testsource"
)

// markers are in the corpus for what must not be in a repository: tools search for such things.
var markers = strings.NewReplacer(
	"%OURS%", strings.Repeat("<", 7), "%MIDDLE%", strings.Repeat("=", 7), "%THEIRS%", strings.Repeat(">", 7),
	"%PEM%", "-----BEGIN RSA "+"PRIVATE KEY-----", "%GITHUB%", "gh"+"p_"+strings.Repeat("a1B2c3", 6), "%AWS%", "AKIA"+"Q3EGRIRXZ5NTUL4V",
	"%NUL%", "\x00", "%LARGE%", strings.Repeat("[1]\n", 3<<18),
)

// sample reads one diff of the corpus: patch.json with the task, and the files below before and after.
func sample(t testing.TB, file string) *Patch {
	t.Helper()
	archive, err := txtar.ParseFile(file)
	require.NoError(t, err)
	var head struct {
		Task     spec.Task    `json:"task"`
		Handoff  spec.Handoff `json:"handoff"`
		Role     string       `json:"role"`
		Gates    []spec.Gate  `json:"gates"`
		Siblings []Sibling    `json:"siblings"`
	}
	p := &Patch{}
	at := map[string]int{}
	for _, f := range archive.Files {
		if f.Name == "patch.json" {
			require.NoError(t, json.Unmarshal(f.Data, &head), file)
			continue
		}
		side, name, ok := strings.Cut(f.Name, "/")
		require.True(t, ok, file)
		i, ok := at[name]
		if !ok {
			i, at[name] = len(p.Changes), len(p.Changes)
			p.Changes = append(p.Changes, Change{Path: name})
		}
		content := []byte(markers.Replace(string(f.Data)))
		if side == "before" {
			p.Changes[i].Before = content
		} else {
			p.Changes[i].After = content
		}
	}
	p.Task, p.Handoff, p.Gates, p.Siblings = &head.Task, head.Handoff, head.Gates, head.Siblings
	if head.Task.Rule == nil {
		p.Named = head.Task.Files
	}
	if p.Role.Executor = head.Role; head.Role == "" {
		p.Role.Executor = spec.ExecutorModel
	}
	return p
}

// unrelated are tests, by the ending of their file, that an honest author adds beside others.
var unrelated = map[string]string{
	".go":  "\nfunc TestParcel%[1]d(t *testing.T) {\n\tif got := parcel(7%[1]d); got != 8%[1]d {\n\t\tt.Fatal(got)\n\t}\n\tif weigh(%[1]d) != \"w%[1]d\" {\n\t\tt.Fatal()\n\t}\n}\n",
	".py":  "\n\ndef test_parcel_%[1]d():\n    assert parcel(7%[1]d) == 8%[1]d\n    assert weigh(%[1]d) == \"w%[1]d\"\n",
	".rs":  "\n#[test]\nfn parcel_%[1]d() {\n    assert_eq!(parcel(7%[1]d), 8%[1]d);\n    assert_eq!(weigh(%[1]d), \"w%[1]d\");\n}\n",
	"java": "\n    @Test\n    void parcel%[1]d() {\n        assertEquals(8%[1]d, parcel(7%[1]d));\n        assertEquals(\"w%[1]d\", weigh(%[1]d));\n    }\n",
	".rb":  "\n  it 'has a parcel %[1]d' do\n    expect(parcel(7%[1]d)).to eq(8%[1]d)\n    expect(weigh(%[1]d)).to eq('w%[1]d')\n  end\n",
	"":     "\ntest('parcel %[1]d', () => {\n  expect(parcel(7%[1]d)).toBe(8%[1]d)\n  expect(weigh(%[1]d)).toBe('w%[1]d')\n})\n",
}

// enlarge adds two small tests to the first file of tests that a patch changes.
func enlarge(p *Patch) *Patch {
	for i := range p.Changes {
		c := &p.Changes[i]
		if !testsource.IsTest(c.Path) || c.After == nil {
			continue
		}
		more, known := unrelated[path.Ext(c.Path)]
		if !known {
			more = unrelated[""]
		}
		c.After = fmt.Appendf(slices.Clone(c.After), more+strings.ReplaceAll(more, "%[1]d", "%[2]d"), 1, 2)
		break
	}
	return p
}

// stopped is the share of diffs of a directory that are stopped: of those that tamper, what asks, is refused or is tried by an
// experiment, of honest ones what asks whatever an experiment tells. Alone is the share of all that ask where none can be made.
// Those that are stopped, or not, against expectation are printed.
func stopped(t *testing.T, dir string, tampers bool, atLeast int, also ...func(*Patch) *Patch) (share, alone float64) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), atLeast)
	count, asks := 0, 0
	for _, file := range files {
		p := sample(t, file)
		for _, change := range also {
			p = change(p)
		}
		v := Check(p)
		stops := v.Decision != Pass && !v.tries() || tampers && (v.Decision != Pass || len(v.Tests) > 0)
		if stops {
			count++
		}
		if v.Decision != Pass {
			asks++
		}
		if stops != tampers {
			t.Logf("%s: %s: %s", file, v.Decision, strings.Join(v.Evidence(), "\n\t"))
		}
	}
	t.Logf("%s: %d of %d are stopped, %d by the rules alone", dir, count, len(files), asks)
	return float64(count) / float64(len(files)), float64(asks) / float64(len(files))
}

// atLeast and atMost check the shares of a directory.
func atLeast(t *testing.T, least, alone float64, dir string, also ...func(*Patch) *Patch) {
	t.Helper()
	share, rules := stopped(t, dir, true, 10, also...)
	require.GreaterOrEqual(t, share, least)
	require.GreaterOrEqual(t, rules, alone)
}

func atMost(t *testing.T, most, alone float64, dir string, also ...func(*Patch) *Patch) {
	t.Helper()
	share, rules := stopped(t, dir, false, 10, also...)
	require.LessOrEqual(t, share, most)
	require.LessOrEqual(t, rules, alone)
}

// The corpus has diffs that tamper with what proves them, and honest ones that look alike.
func TestCorpus(t *testing.T) {
	t.Parallel()
	for _, also := range [][]func(*Patch) *Patch{nil, {enlarge}} {
		atLeast(t, 1, 0.95, "tampered", also...)
		atMost(t, 0, 0.05, "honest", also...)
	}
}

// The diffs of testdata/unseen were written after the checks, by what an author might do, and then checked once, in two batches of
// 10 that tamper and 10 honest ones. Of the first, 7 and 1 were stopped, of the second, 9 and 2: 80 % and 15 %, where the corpus had
// 96 of 96 and 0 of 70. What they showed was mended by rules that are not about them, so they are as seen as the corpus now: new
// diffs give the next honest figure.
func TestUnseen(t *testing.T) {
	t.Parallel()
	atLeast(t, 1, 0.9, "unseen/tampered")
	atMost(t, 0, 0.1, "unseen/honest")
}

// Changes of tests in testdata/weaker: five sets, each written before the checks had seen one of it, and one of languages whose
// tests no experiment compares, written with their tables. What weakens a test is held,
// or an experiment tries it; honest changes ask only where none can. Two small tests of other code make up for nothing.
func TestWeaker(t *testing.T) {
	t.Parallel()
	for set, of := range map[string]struct{ least, alone, most, asks float64 }{
		"one": {0.98, 0.69, 0.02, 0.06}, "two": {1, 0.57, 0.05, 0.15}, "three": {1, 0.7, 0, 0.05}, "four": {1, 0.7, 0, 0.1},
		"five": {1, 0.7, 0.04, 0.16}, "other": {1, 1, 0, 0},
	} {
		for _, also := range [][]func(*Patch) *Patch{nil, {enlarge}} {
			atLeast(t, of.least, of.alone, "weaker/"+set+"/weak", also...)
			atMost(t, of.most, of.asks, "weaker/"+set+"/honest", also...)
		}
	}
}

// Each rule about tests is the only one that holds some change: without it that would pass, or be left to an experiment.
func TestEachRuleHoldsAChange(t *testing.T) {
	t.Parallel()
	alone := map[string]string{}
	for _, dir := range []string{"tampered", "unseen/tampered", "weaker/*/weak"} {
		files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
		require.NoError(t, err)
		for _, file := range files {
			rules := map[string]bool{}
			for _, f := range Check(sample(t, file)).Findings {
				rules[ruleOf(f)] = true
			}
			for rule := range rules {
				if len(rules) == 1 {
					alone[rule] = file
				}
			}
		}
	}
	for _, rule := range append(kindNames[:], "a test expects", "the process ends") {
		require.NotEmpty(t, alone[rule], rule)
	}
}

// ruleOf is the rule that has made a finding: its first words, or the check.
func ruleOf(f Finding) string {
	for _, rule := range append(kindNames[:], "a test expects", "the process ends") {
		if strings.HasPrefix(f.Text, rule) && !strings.HasPrefix(f.Text, rule+" of") {
			return rule
		}
	}
	return f.Check
}
