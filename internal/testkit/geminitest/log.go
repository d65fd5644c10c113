package geminitest

import (
	"encoding/json"
	"net/http"
	"slices"
	"sync"
)

// Entry is one request in the log. Times are nanoseconds since 1970.
type Entry struct {
	N       int    `json:"n"`
	Method  string `json:"method"`
	Model   string `json:"model"`
	Run     string `json:"run,omitempty"`
	Task    string `json:"task,omitempty"`
	Role    string `json:"role,omitempty"`
	Purpose string `json:"purpose,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	Try     int    `json:"try,omitempty"`
	Start   int64  `json:"start_ns"`
	// First is when the first chunk went out; 0 when none did.
	First    int64  `json:"first_ns,omitempty"`
	End      int64  `json:"end_ns"`
	Status   int    `json:"status"`
	Fault    string `json:"fault,omitempty"`
	Reason   string `json:"violation,omitempty"`
	BytesIn  int    `json:"bytes_in"`
	BytesOut int    `json:"bytes_out"`
	// Cached counts the tokens of the request that were in the simulated cache.
	Cached int `json:"cached,omitempty"`
	// Body is the request, kept only when Options.KeepBodies asks for it.
	Body json.RawMessage `json:"-"`
}

// Violation is a breach of the API's rules, or of the script.
type Violation struct {
	Task    string `json:"task,omitempty"`
	Attempt int    `json:"attempt,omitempty"`
	Turn    int    `json:"turn,omitempty"`
	Reason  string `json:"reason"`
}

// journal is the memory of the server. It is safe for concurrent use.
type journal struct {
	mu      sync.Mutex
	entries []Entry
	issued  map[string][]string
}

// begin takes a request's place in the log, so that one under way is seen too.
func (j *journal) begin(start int64) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entries = append(j.entries, Entry{N: len(j.entries) + 1, Start: start})
	return len(j.entries) - 1
}

func (j *journal) update(i int, change func(*Entry)) {
	j.mu.Lock()
	defer j.mu.Unlock()
	change(&j.entries[i])
}

func (j *journal) issue(signed map[string][]string) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for id, sigs := range signed {
		j.issued[id] = sigs
	}
}

func (j *journal) signatures(id string) ([]string, bool) {
	j.mu.Lock()
	defer j.mu.Unlock()
	sigs, ok := j.issued[id]
	return sigs, ok
}

func (j *journal) all() []Entry {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Clone(j.entries)
}

// writeLines writes one JSON document a line.
func writeLines[T any](w http.ResponseWriter, items []T) {
	w.Header().Set("Content-Type", "application/jsonl")
	enc := json.NewEncoder(w)
	for _, it := range items {
		if err := enc.Encode(it); err != nil {
			panic(http.ErrAbortHandler) // the reader is gone
		}
	}
}
