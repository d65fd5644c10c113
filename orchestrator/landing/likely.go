package landing

import (
	"cmp"
	"math"
	"path"
	"regexp"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// Weigh has read what may tell which of some patches makes a batch fail; Then proposes what follows.
type Weigh struct {
	run.Proposal

	// Head is the commit that failed.
	Head     string
	Patches  map[string]*spec.Patch
	Failures []Question
	Then     func(Evidence) []run.Action
}

// Question is a failure: its name, and the files that it names.
type Question struct {
	Name  string
	Files []string
}

// Evidence is what was read: for each failure the source of its test, and for each task its patch as a unified diff. All of it is
// bounded, and text of the repository.
type Evidence struct {
	Sources []Source
	Patches map[string]string
}

// Source is where the test of a failure is, and its text; empty where it was not found.
type Source struct{ Path, Text string }

// maxWeighed bounds the failures that are read about.
const maxWeighed = 24

func weigh(tasks *run.Tasks, proofs *run.Proofs, d run.LandingData, receipts []spec.Receipt, several []string,
	then func(map[string]float64) []run.Action,
) run.Action {
	w := Weigh{Head: d.Head, Patches: map[string]*spec.Patch{}}
	for _, f := range failures(proofs, receipts) {
		files := slices.DeleteFunc(slices.Concat(f.positions, f.paths), func(p string) bool { return path.Ext(p) == "" })
		if w.Failures = append(w.Failures, Question{titleOf(f.signature), files}); len(w.Failures) == maxWeighed {
			break
		}
	}
	for _, id := range several {
		w.Patches[id] = tasks.ByID[id].Result.Patch
	}
	w.Then = func(e Evidence) []run.Action { return then(Odds(w.Failures, e, several)) }
	return w
}

// kinds are the words before the name of what failed.
var kinds = lazyregexp.New(`^(?:test|package|build|FAIL):? `)

func titleOf(signature string) string { return kinds.ReplaceAllLiteralString(signature, "") }

// weighed reports whether it is known how likely each of some tasks is the wrong one.
func weighed(tasks *run.Tasks, ids []string) bool {
	return !slices.ContainsFunc(ids, func(id string) bool {
		return tasks.ByID[id].Part == 0 || tasks.ByID[id].Suspected.Odds == 0
	})
}

func known(tasks *run.Tasks, ids []string) map[string]float64 {
	odds := map[string]float64{}
	for _, id := range ids {
		odds[id] = tasks.ByID[id].Suspected.Odds
	}
	return odds
}

// mostLikely are the tasks that a batch is tested without next: so many that the wrong one is rather among them than not, and at
// most half.
func mostLikely(tasks []string, odds map[string]float64) []string {
	sum, sorted := 0.0, byOdds(tasks, odds)
	for _, id := range tasks {
		sum += odds[id]
	}
	n, mass := 0, 0.0
	for n < max(1, len(tasks)/2) && mass < sum/2 {
		mass += odds[sorted[n]]
		n++
	}
	return sorted[:n]
}

// half are the more likely half of some tasks: where the most likely ones were not wrong, their order tells little.
func half(tasks *run.Tasks, ids []string) []string {
	return byOdds(ids, known(tasks, ids))[:(len(ids)+1)/2]
}

// byOdds sorts tasks, the most likely first; of those that are alike the last ones.
func byOdds(tasks []string, odds map[string]float64) []string {
	sorted := slices.Clone(tasks)
	slices.Reverse(sorted)
	slices.SortStableFunc(sorted, func(a, b string) int { return cmp.Compare(odds[b], odds[a]) })
	return sorted
}

// What a word counts, by where it is: in the name of what failed, the path of its test and its source, and in the lines that a
// patch changes, its paths, and the lines around.
const (
	inName, inPath, inSource       = 3, 2, 1
	inLine, inPatchPath, inContext = 1, 0.7, 0.4
	// certainty is the power of a score that its odds are.
	certainty = 3
	// leastOdds is what a task counts that no word leads to, against the best one.
	leastOdds = 0.01
)

// Odds weighs how likely each task is why a batch fails: by the words that failures and patches share, and by what a patch
// changes that the others do not. A word counts the more, the fewer patches have it.
func Odds(failures []Question, e Evidence, tasks []string) map[string]float64 {
	patches, have := make([]map[string]float64, len(tasks)), map[string]float64{}
	for i, id := range tasks {
		patches[i] = wordsOfPatch(e.Patches[id])
		for w := range patches[i] {
			have[w]++
		}
	}
	scores, n := make([]float64, len(tasks)), float64(len(tasks))
	for i, f := range failures {
		words := wordsOfFailure(f, e, i)
		own, best := make([]float64, len(tasks)), 0.0
		for at, patch := range patches {
			for w, weight := range words {
				own[at] += weight * patch[w] * math.Log(1+(n-have[w])/(have[w]+0.5))
			}
			own[at] /= math.Sqrt(math.Sqrt(1 + float64(len(patch))))
			best = max(best, own[at])
		}
		for at := range own {
			scores[at] += own[at] / max(best, math.SmallestNonzeroFloat32)
		}
	}
	odds, best, sum := map[string]float64{}, max(slices.Max(scores), math.SmallestNonzeroFloat32), 0.0
	odd := odd(e.Patches, tasks)
	for at, id := range tasks {
		odds[id] = leastOdds + math.Pow(scores[at]/best, certainty)
		if odd[id] {
			odds[id] *= oddness
		}
		sum += odds[id]
	}
	for id := range odds {
		odds[id] = max(1e-6, math.Round(odds[id]/sum*1e6)/1e6)
	}
	return odds
}

func wordsOfFailure(f Question, e Evidence, i int) map[string]float64 {
	words := map[string]float64{}
	put(words, f.Name, inName)
	if i < len(e.Sources) {
		put(words, e.Sources[i].Path, inPath)
		put(words, e.Sources[i].Text, inSource)
	}
	for _, file := range f.Files {
		put(words, file, inPath)
	}
	return words
}

// wordsOfPatch are the words of a unified diff.
func wordsOfPatch(diff string) map[string]float64 {
	words := map[string]float64{}
	weights := map[byte]float64{linePath: inPatchPath, lineHeading: inContext, ' ': inContext, '+': inLine, '-': inLine}
	for kind, line := range linesOf(diff) {
		put(words, line, weights[kind])
	}
	return words
}

// put adds the words of a text, each with the most that it counts anywhere.
func put(words map[string]float64, from string, weight float64) {
	for _, w := range text.Words(from) {
		if len(w) > 1 {
			words[w] = max(words[w], weight)
		}
	}
}

// maxBlock bounds the lines of a test's source.
const maxBlock = 40

// Block returns the part of a test file that has the test of a name: from the line that begins it to the end of what is indented
// below. Where that is not found it is all of the file.
func Block(file, name string) string {
	lines := strings.Split(file, "\n")
	begin, longest := -1, 0
	for i, line := range lines {
		for _, title := range titles.FindAllStringSubmatch(line, -1) {
			title := cmp.Or(title[1], title[2], title[3], title[4])
			named := strings.HasSuffix(name, title) || strings.Contains(name, title) && len(title) > maxPlain
			if named && len(title) > longest {
				begin, longest = i, len(title)
			}
		}
	}
	if begin < 0 {
		return file
	}
	end, indent := begin+1, indentOf(lines[begin])
	for end < len(lines) && end < begin+maxBlock {
		line := strings.TrimSpace(lines[end])
		if line != "" && indentOf(lines[end]) <= indent && !strings.ContainsAny(line[:1], "})]") {
			break
		}
		end++
	}
	return strings.Join(lines[begin:end], "\n")
}

// maxPlain is up to how many bytes a title counts only at the end of a test's name.
const maxPlain = 8

// titles matches what a line may name a test with: a text in quotes, or the name of a function.
var titles = lazyregexp.New(`"([^"]{3,200})"|'([^']{3,200})'|` + "`([^`]{3,200})`|" +
	`\b(?:func|def|fn|void|function)\s+(\w{3,200})`)

func indentOf(line string) int { return len(line) - len(strings.TrimLeft(line, " \t")) }

// NameIn matches the files that may have the test of a name: they have the end of it.
func NameIn(name string) *regexp.Regexp {
	words := strings.FieldsFunc(name, func(r rune) bool { return strings.ContainsRune(" \t/:>.", r) })
	if len(words) == 0 {
		return nil
	}
	last := words[max(0, len(words)-2):]
	quoted := make([]string, len(last))
	for i, w := range last {
		quoted[i] = regexp.QuoteMeta(w)
	}
	return regexp.MustCompile(strings.Join(quoted, `\W{1,8}`))
}
