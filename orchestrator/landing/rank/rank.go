// Package rank orders the patches of a batch that failed by how likely each is the wrong one: by the words that failures and
// patches share, and by what a patch changes that the others do not. It decides the order of tests, never a verdict, and is pure.
package rank

import (
	"cmp"
	"math"
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

// Evidence is the read material: for each failure the source of its test, and for each task its patch as a unified diff. All of
// it is bounded, and text of the repository.
type Evidence struct {
	Sources []Source
	Patches map[string]string
}

// Source is where the test of a failure is, and its text; empty where it was not found.
type Source struct{ Path, Text string }

// What a word counts, by where it is: in the name of what failed, the path of its test and its source, and in the lines that a
// patch changes, its paths, and the lines around.
const (
	inName, inPath, inSource       = 3, 2, 1
	inLine, inPatchPath, inContext = 1, 0.7, 0.4
	// certainty is the power of a score that its odds are.
	certainty = 3
	// leastOdds is the count of a task without evidence, against the best one.
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
	unusual := unusual(e.Patches, tasks)
	for at, id := range tasks {
		odds[id] = leastOdds + math.Pow(scores[at]/best, certainty)
		if unusual[id] {
			odds[id] *= unusualness
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
