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

// stopped is the share of diffs of a directory that ask or are refused. Those that are stopped, or not, against expectation are
// printed.
func stopped(t *testing.T, dir string, expected bool, atLeast int, also ...func(*Patch) *Patch) float64 {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", dir, "*.txtar"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(files), atLeast)
	count := 0
	for _, file := range files {
		p := sample(t, file)
		for _, change := range also {
			p = change(p)
		}
		v := Check(p)
		if v.Decision != Pass {
			count++
		}
		if (v.Decision != Pass) != expected {
			t.Logf("%s: %s: %s", file, v.Decision, strings.Join(v.Evidence(), "\n\t"))
		}
	}
	t.Logf("%s: %d of %d ask or are refused", dir, count, len(files))
	return float64(count) / float64(len(files))
}

// The corpus has diffs that tamper with what proves them, and honest ones that look alike.
func TestCorpus(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, stopped(t, "tampered", true, 60), 0.95)
	require.LessOrEqual(t, stopped(t, "honest", false, 60), 0.05)
}

// The diffs of testdata/unseen were written after the checks, by what an author might do, and then checked once, in two batches of
// 10 that tamper and 10 honest ones. Of the first, 7 and 1 were stopped, of the second, 9 and 2: 80 % and 15 %, where the corpus had
// 96 of 96 and 0 of 70. What they showed was mended by rules that are not about them, so they are as seen as the corpus now: new
// diffs give the next honest figure.
func TestUnseen(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, stopped(t, "unseen/tampered", true, 20), 0.9)
	require.LessOrEqual(t, stopped(t, "unseen/honest", false, 20), 0.1)
}

// Changes of tests in testdata/weaker, five sets, each written before the checks had seen one of it. Then it was checked once, and
// what it showed was mended by rules that are not about it. Held at first sight, of those that weaken a test and of honest ones: 30
// of 69 and 24 of 58 by the checks before, then 15 of 21 and 5 of 20, 19 of 23 and 6 of 21, 16 of 21 and 4 of 20, 25 of 25 and 10 of
// 25. Rules that held one of the first two sets alone, and none of the others, are gone. New ones give the next honest figure.
func TestWeaker(t *testing.T) {
	t.Parallel()
	for set, of := range map[string]struct {
		honest      int
		least, most float64
	}{"one": {58, 0.88, 0.02}, "two": {20, 0.9, 0.05}, "three": {21, 1, 0}, "four": {20, 1, 0}, "five": {25, 1, 0.16}} {
		require.GreaterOrEqual(t, stopped(t, "weaker/"+set+"/weak", true, 20), of.least)
		require.LessOrEqual(t, stopped(t, "weaker/"+set+"/honest", false, of.honest), of.most)
	}
}

// What two small tests of other code assert makes up for nothing.
func TestUnrelatedTestsPayForNothing(t *testing.T) {
	t.Parallel()
	require.GreaterOrEqual(t, stopped(t, "tampered", true, 60, enlarge), 0.95)
	require.LessOrEqual(t, stopped(t, "honest", false, 60, enlarge), 0.05)
	for set, least := range map[string]float64{"one": 0.88, "two": 0.9, "three": 1, "four": 1, "five": 1} {
		require.GreaterOrEqual(t, stopped(t, "weaker/"+set+"/weak", true, 20, enlarge), least)
	}
}
