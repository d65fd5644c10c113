// Package plan turns a plan into tasks. Its input is a plan and the tree of a commit; its output are validated tasks with
// their shard rules expanded, the overlaps of their write sets, notes for the person who approves, and the ceiling in tokens.
// It never changes a run: the conductor appends its output as an event.
package plan
