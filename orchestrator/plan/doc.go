// Package plan turns a plan into tasks: it validates the plan, expands shard rules over the tree of a commit, and finds
// overlaps of write sets, ungated modules and the ceiling in tokens. It changes no run: its result becomes an event elsewhere.
package plan
