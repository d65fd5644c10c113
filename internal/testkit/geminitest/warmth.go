package geminitest

import (
	"sync"
	"time"

	"google.golang.org/genai"
)

// canonicalPrefix is compared by implicit caching, in the order in which the service reads a request.
func canonicalPrefix(system *genai.Content, tools []*genai.Tool, contents []*genai.Content) string {
	return string(mustJSON(system)) + string(mustJSON(tools)) + string(mustJSON(contents))
}

// warmth simulates implicit caching: a request finds in the cache what it has in common, from its first byte on, with an
// earlier request to the same model whose answer has begun. It is safe for concurrent use.
type warmth struct {
	mu   sync.Mutex
	seen map[string][]warmed
}

// warmed is the text of one request and when it was in the cache.
type warmed struct {
	text string
	from time.Time
}

// find returns how many bytes of a request are in the cache now.
func (w *warmth) find(model, text string) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, most := time.Now(), 0
	for _, s := range w.seen[model] {
		if !s.from.After(now) {
			most = max(most, common(s.text, text))
		}
	}
	return most
}

// add puts a request into the cache for those that come after its answer has begun.
func (w *warmth) add(model, text string, begins time.Time) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[model] = append(w.seen[model], warmed{text, begins})
}

// common is the length of the common prefix.
func common(a, b string) int {
	n := min(len(a), len(b))
	for i := range n {
		if a[i] != b[i] {
			return i
		}
	}
	return n
}
