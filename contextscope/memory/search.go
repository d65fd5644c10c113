package memory

import (
	"context"
	"fmt"
	"maps"
	"strings"

	"divisi/internal/text"
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
	// Score reports how well it fits, the higher the better. It compares hits of one search only.
	Score float64 `json:"score"`
	// Path is the file below the repository's top.
	Path string `json:"path"`
}

// Search returns the notes that fit the query best, the best first. The query is plain words; nothing in it is an operator.
// A query without a word to look for finds nothing.
func (m *Memory) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	return m.search(ctx, query, limit, 0)
}

// search is Search for notes that hold at least so many of the query's terms.
func (m *Memory) search(ctx context.Context, query string, limit, least int) ([]Hit, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("search the memory: %w", err)
	}
	m.mu.Lock()
	ix := m.index
	m.mu.Unlock()
	terms := ix.deciding(asked(text.Head(query, maxQuery), maxAsked))
	found := ix.search(terms, least)
	dir, err := m.notes.open(false)
	if dir == nil || err != nil { // the next refresh reports it
		return nil, nil
	}
	defer func() { _ = dir.Close() }()
	wanted := map[string]bool{}
	for _, term := range terms[:min(maxDeciding, len(terms))] {
		for _, key := range term.keys {
			wanted[key] = true
		}
	}
	var hits []Hit
	for _, r := range found[:min(max(0, limit), maxHits, len(found))] {
		n, fault := load(dir, r.file)
		if fault != nil { // the next refresh reports it
			continue
		}
		hits = append(hits, Hit{Name: r.name, Title: n.Title, Text: snippet(n.Text, wanted), Score: r.score, Path: r.path()})
	}
	return hits, nil
}

// snippet returns a short text whole, and the lines of a long one that hold most of the words, the first such where several do.
func snippet(text string, wanted map[string]bool) string {
	if len(text) <= maxSnippet {
		return text
	}
	lines := strings.SplitAfter(text, "\n")
	held := make([]map[string]bool, len(lines))
	for i, line := range lines {
		held[i] = wordsOf(line, wanted)
	}
	const tries = 200 // of places to begin: a note that is full of the words shows them anywhere
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
	return excerpt(lines, best, held[best])
}

// wordsOf returns the words of a line that have one of the keys, as the line has them but for their case.
func wordsOf(line string, wanted map[string]bool) map[string]bool {
	words := map[string]bool{}
	eachTerm(line, func(term string) {
		chars := strings.Fields(term)
		for _, key := range append(keys(term), chars...) {
			switch {
			case !wanted[key]:
			case len(chars) == 1:
				words[term] = true
			default:
				words[key] = true
			}
		}
	})
	return words
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
	rest := strings.Join(lines[from:], "")
	before := from > 0
	if len(lines[from]) > maxSnippet { // one long line: begin near the first word
		if at := firstOf(rest[:len(lines[from])], words) - maxSnippet/4; at > 0 {
			rest, before = rest[at:], true
			rest = rest[strings.IndexFunc(rest, func(r rune) bool { return r == ' ' })+1:]
		}
	}
	shown := text.Head(rest, maxSnippet)
	after := len(shown) < len(rest)
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

// firstOf is where the first of the words is in a line; 0 where they are spelt otherwise there.
func firstOf(line string, words map[string]bool) int {
	first, folded := len(line), strings.ToLower(line)
	for w := range words {
		if at := strings.Index(folded, w); at >= 0 {
			first = min(first, at)
		}
	}
	if first == len(line) {
		return 0
	}
	return first
}
