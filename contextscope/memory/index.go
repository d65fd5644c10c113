package memory

import (
	"math"
	"slices"
	"strings"
	"unicode"

	"github.com/kljensen/snowball/english"
	"golang.org/x/text/unicode/norm"
)

// index holds the notes by name as searches need them. It is made of the files, and lost with the process.
type index map[string]*entry

// entry is one note in the index.
type entry struct {
	file

	// weights are the keys that the note holds, each with how often: once in the title counts eight times, in the tags four
	// times, in the paths twice.
	weights map[string]float64
	// length is how many words and characters the note has.
	length float64
}

// newEntry makes the entry of a note. The keys of each term are found once for all notes, since stemming takes most of the time.
func newEntry(f file, n *Note, known map[string][]string) *entry {
	e := &entry{file: f, weights: map[string]float64{}}
	terms := map[string]float64{}
	for _, field := range []struct {
		text   string
		weight float64
	}{{n.Title, 8}, {strings.Join(n.Tags, "\n"), 4}, {strings.Join(n.Paths, "\n"), 2}, {n.Text, 1}} {
		eachTerm(field.text, func(term string) {
			terms[term] += field.weight
			e.length += float64(1 + strings.Count(term, " "))
		})
	}
	for term, weight := range terms {
		if known[term] == nil {
			known[term] = keys(term)
			if chars := strings.Fields(term); len(chars) > 1 {
				known[term] = append(known[term], chars...)
			}
		}
		for _, key := range known[term] {
			e.weights[key] += weight
		}
	}
	return e
}

// weight is how often the note holds all of the keys.
func (e *entry) weight(keys []string) float64 {
	least := e.weights[keys[0]]
	for _, key := range keys[1:] {
		least = min(least, e.weights[key])
	}
	return least
}

// keys are the search keys of a term: the stem of a word; of a run of characters each two that follow each other.
func keys(term string) []string {
	chars := strings.Fields(term)
	if len(chars) == 1 {
		return []string{english.Stem(norm.NFC.String(strings.Map(fold, norm.NFD.String(term))), true)}
	}
	pairs := make([]string, len(chars)-1)
	for i := range pairs {
		pairs[i] = chars[i] + chars[i+1]
	}
	return pairs
}

// fold drops accents, and makes all forms of a letter one: the sigma at a word's end is another small letter.
func fold(r rune) rune {
	if r >= '\u0300' && r <= '\u036f' {
		return -1
	}
	return unicode.ToLower(unicode.ToUpper(r))
}

// maxDeciding is how many terms of a query decide.
const maxDeciding = 12

// asking is a term of a query with how many notes hold it.
type asking struct {
	keys []string
	held int
}

// deciding returns the terms that some note holds, those in the fewest notes first, because they tell notes apart.
func (ix index) deciding(terms []string) []asking {
	var all []asking
	for _, term := range terms {
		a := asking{keys: keys(term)}
		for _, e := range ix {
			if e.weight(a.keys) > 0 {
				a.held++
			}
		}
		if a.held > 0 {
			all = append(all, a)
		}
	}
	slices.SortStableFunc(all, func(a, b asking) int { return a.held - b.held })
	return all
}

// ranked is one note that holds some of the terms of a query.
type ranked struct {
	*entry

	score float64
}

// search ranks the notes that hold at least so many of the terms by BM25, with its usual constants, over the first
// maxDeciding terms. Equal scores are in the order of the names.
func (ix index) search(terms []asking, least int) []ranked {
	const k1, b, rarely = 1.2, 0.75, 1e-6 // a term that most notes hold counts rarely, and never against a note
	total := 0.0
	for _, e := range ix {
		total += e.length
	}
	count := float64(len(ix))
	var found []ranked
	for _, e := range ix {
		shared, score := 0, 0.0
		for i, term := range terms {
			weight := e.weight(term.keys)
			if weight > 0 {
				shared++
			}
			if i < maxDeciding {
				held := float64(term.held)
				rarity := max(math.Log((count-held+0.5)/(held+0.5)), rarely)
				score += rarity * weight * (k1 + 1) / (weight + k1*(1-b+b*e.length*count/total))
			}
		}
		if score > 0 && shared >= least {
			found = append(found, ranked{e, score})
		}
	}
	slices.SortFunc(found, func(a, b ranked) int {
		if a.score != b.score {
			return int(math.Copysign(1, b.score-a.score))
		}
		return strings.Compare(a.name, b.name)
	})
	return found
}
