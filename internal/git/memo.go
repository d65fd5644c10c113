package git

import "sync"

// maxKept bounds the entries of the trees that are kept, and the commits: about 8 MB.
const maxKept = 1 << 16

// memo keeps trees and commits that a repository has and never loses. A nil one keeps nothing.
type memo struct {
	mu      sync.Mutex
	trees   map[string][]treeEntry
	entries int
	commits map[string]Commit
	// conversions are those of trees and of lists of attributes.
	conversions map[string]Conversion
}

func (m *memo) tree(id string) (entries []treeEntry, kept bool) {
	if m == nil {
		return nil, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	entries, kept = m.trees[id]
	return entries, kept
}

func (m *memo) keepTree(id string, entries []treeEntry) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trees == nil || m.entries+len(entries) > maxKept {
		m.trees, m.entries = map[string][]treeEntry{}, 0
	}
	if _, kept := m.trees[id]; !kept {
		m.trees[id], m.entries = entries, m.entries+len(entries)
	}
}

func (m *memo) commit(id string) (c Commit, kept bool) {
	if m == nil {
		return c, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, kept = m.commits[id]
	return c, kept
}

func (m *memo) keepCommit(c Commit) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.commits == nil || len(m.commits) >= maxKept {
		m.commits = map[string]Commit{}
	}
	m.commits[c.ID] = c
}

func (m *memo) conversion(id string) (c Conversion, kept bool) {
	if m == nil {
		return c, false
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	c, kept = m.conversions[id]
	return c, kept
}

func (m *memo) keepConversion(id string, c Conversion) {
	if m == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conversions == nil || len(m.conversions) >= maxKept {
		m.conversions = map[string]Conversion{}
	}
	m.conversions[id] = c
}
