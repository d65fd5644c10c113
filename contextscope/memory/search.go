package memory

import (
	"cmp"
	"context"
	"maps"
	"path"
	"strings"
	"unicode/utf8"
)

const (
	// maxAsked bounds the words of a query: the first so many distinct ones count.
	maxAsked = 64
	// maxQuery bounds a query in bytes, maxHits the hits.
	maxQuery = 8 << 10
	maxHits  = 100
	// maxSnippet bounds the text of a hit in bytes; a note that is not longer is shown whole.
	maxSnippet = 600
)

// Hit is one note that a search found.
type Hit struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	// Text is the note's text where it is short, else the part of it that holds most of what was asked for.
	Text string `json:"text"`
	// Score says how well it fits, the higher the better. It compares hits of one search only.
	Score float64 `json:"score"`
	// Path is the file below the repository's top.
	Path string `json:"path"`
	// matched counts the words of the query that are in the note.
	matched int
}

// Search returns the notes that fit the query best, the best first. The query is plain words; nothing in it is an operator.
// A query without a word to look for finds nothing.
func (m *Memory) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	query = cut(query, maxQuery)
	words, limit := asked(query, maxAsked), min(limit, maxHits)
	if len(words) == 0 || limit <= 0 {
		return nil, nil
	}
	set := map[string]bool{}
	for _, w := range words {
		set[w] = true
	}
	var hits []Hit
	err := m.look(ctx, "search the memory", func() error {
		found, err := m.index.search(ctx, words, limit)
		if err != nil {
			return err
		}
		hits, err = m.hits(ctx, found, set)
		return err
	})
	return hits, err
}

// hits fills in what was found.
func (m *Memory) hits(ctx context.Context, found []ranked, words map[string]bool) ([]Hit, error) {
	if len(found) == 0 {
		return nil, nil
	}
	names := make([]string, len(found))
	for i, r := range found {
		names[i] = r.name
	}
	notes, err := m.index.notes(ctx, names...)
	if err != nil {
		return nil, err
	}
	byName := map[string]Note{}
	for _, n := range notes {
		byName[n.Name] = n
	}
	hits := make([]Hit, 0, len(found))
	for _, r := range found {
		n, ok := byName[r.name]
		if !ok { // a vector of a note that is no more
			continue
		}
		hits = append(hits, Hit{
			Name: r.name, Title: n.Title, Text: snippet(n.Text, words), Score: r.score, Path: path.Join(Place, r.name+".md"),
			matched: len(wordsIn(words, n.Title, n.Text, strings.Join(n.Tags, " "), strings.Join(n.Paths, " "))),
		})
	}
	return hits, nil
}

// wordsIn returns which of the words are in the texts.
func wordsIn(words map[string]bool, texts ...string) map[string]bool {
	found := map[string]bool{}
	for _, text := range texts {
		eachWord(text, false, func(w string) {
			if words[w] {
				found[w] = true
			}
		})
	}
	return found
}

// snippet returns the lines that hold most of the words, the first such where several do; a short text whole.
func snippet(text string, words map[string]bool) string {
	if len(text) <= maxSnippet {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	held := make([]map[string]bool, len(lines))
	for i, line := range lines {
		held[i] = wordsIn(words, line)
	}
	const tries = 200 // enough to find a good place, and a bound for a note of very many lines
	best, most, tried := 0, 0, 0
	for start := range lines {
		if len(held[start]) == 0 || tried == tries {
			continue
		}
		tried++
		if n := heldFrom(lines, held, start); n > most {
			best, most = start, n
		}
	}
	return excerpt(lines, best, words)
}

// heldFrom counts the words in a snippet that begins with a line.
func heldFrom(lines []string, held []map[string]bool, start int) int {
	union := map[string]bool{}
	for i, size := start, 0; i < len(lines); i++ {
		if size += len(lines[i]); size > maxSnippet && i > start {
			break
		}
		maps.Copy(union, held[i])
	}
	return len(union)
}

// excerpt cuts the lines from one on to a snippet, and marks what was left out.
func excerpt(lines []string, from int, words map[string]bool) string {
	text := strings.Join(lines[from:], "")
	before := from > 0
	if len(lines[from]) > maxSnippet { // one long line: begin near the first word
		if at := firstOf(text[:len(lines[from])], words) - maxSnippet/4; at > 0 {
			text, before = text[at:], true
			text = text[strings.IndexFunc(text, func(r rune) bool { return r == ' ' })+1:]
		}
	}
	shown := cut(text, maxSnippet)
	after := len(shown) < len(text)
	if end := strings.LastIndexByte(shown, '\n'); after && end > maxSnippet/2 {
		shown = shown[:end]
	}
	shown = strings.TrimRight(shown, " \t\n")
	if before {
		shown = "… " + shown
	}
	if after {
		shown += " …"
	}
	return shown
}

// firstOf is where, about, the first of the words stands: the space-separated field that holds it.
func firstOf(line string, words map[string]bool) int {
	at := 0
	for field := range strings.FieldsSeq(line) {
		at += strings.Index(line[at:], field)
		if len(wordsIn(words, field)) > 0 {
			return at
		}
		at += len(field)
	}
	return 0
}

// cut bounds a text in bytes, between characters.
func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	most = max(most, 0)
	for most > 0 && !utf8.RuneStart(s[most]) {
		most--
	}
	return s[:most]
}

// byScore orders what was found: the best first, equals by name.
func byScore(a, b ranked) int {
	return cmp.Or(cmp.Compare(b.score, a.score), cmp.Compare(a.name, b.name))
}
