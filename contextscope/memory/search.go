package memory

import (
	"context"
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
	// Score says how well it fits, the higher the better. It compares hits of one search only.
	Score float64 `json:"score"`
	// Path is the file below the repository's top.
	Path string `json:"path"`
}

// Search returns the notes that fit the query best, the best first. The query is plain words; nothing in it is an operator.
// A query without a word to look for finds nothing.
func (m *Memory) Search(ctx context.Context, query string, limit int) ([]Hit, error) {
	return m.search(ctx, query, limit, 0)
}

// search is Search for notes that hold at least so many of the query's terms; 0 does not count them.
func (m *Memory) search(ctx context.Context, query string, limit, least int) (hits []Hit, err error) {
	terms, limit := asked(text.Head(query, maxQuery), maxAsked), min(limit, maxHits)
	if len(terms) == 0 || limit <= 0 {
		return nil, nil
	}
	err = m.look(ctx, "search the memory", func() error {
		hits = nil
		match, err := m.index.deciding(ctx, terms)
		if err != nil || match == "" {
			return err
		}
		found, err := m.index.search(ctx, match, limit)
		if err == nil && least > 0 {
			found, err = m.index.sharing(ctx, found, terms, least)
		}
		if err != nil {
			return err
		}
		hits, err = m.hits(ctx, found, match)
		return err
	})
	return hits, err
}

// hits reads the notes that were found. One that cannot be read any more is left out: the next refresh reports it.
func (m *Memory) hits(ctx context.Context, found []ranked, match string) ([]Hit, error) {
	dir, err := m.notes.open(false)
	if dir == nil || err != nil || len(found) == 0 {
		return nil, nil
	}
	defer func() { _ = dir.Close() }()
	marked, err := m.index.marked(ctx, match, found)
	if err != nil {
		return nil, err
	}
	hits := make([]Hit, 0, len(found))
	for _, r := range found {
		f := file{name: r.name}
		n, fault := load(dir, f)
		if fault != nil {
			continue
		}
		text := n.Text
		if len(text) > maxSnippet {
			text = snippet(text, marked[r.id])
		}
		hits = append(hits, Hit{Name: r.name, Title: n.Title, Text: text, Score: r.score, Path: f.path()})
	}
	return hits, nil
}

// snippet returns the lines of a long text that hold most of the words, the first such where several do. marked are the lines
// as the index has them, with marks around the words; a text that has changed since begins with its first line.
func snippet(text, marked string) string {
	lines := strings.SplitAfter(text, "\n")
	held := make([]map[string]bool, len(lines))
	for i, line := range strings.Split(strings.TrimSuffix(marked, "\n"), "\n") {
		if i < len(held) {
			held[i] = marks(line)
		}
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

// marks returns the words of a line that have marks around them.
func marks(line string) map[string]bool {
	var found map[string]bool
	for {
		_, rest, ok := strings.Cut(line, markBegin)
		word, after, closed := strings.Cut(rest, markEnd)
		if !ok || !closed {
			return found
		}
		if found == nil {
			found = map[string]bool{}
		}
		found[word], line = true, after
	}
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
