// Package compaction decides which part of a session a shorter text replaces. Its input are the events of a session and the
// rules of its role; its output is a Compaction for the log: a snapshot that a model wrote and Job checked, or a prune that code
// made. It never calls a model: package subagents/compact does, and appends the record.
package compaction
