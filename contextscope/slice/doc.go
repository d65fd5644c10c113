// Package slice freezes what a task inherits from upstream. Its input are the decision record and the sessions of other agents;
// its output is a Slice, the same bytes under the same digest for all tasks of one dispatch. It never stores a slice and never
// reads a log.
package slice
