// Package conductor holds a run: one goroutine folds the log, asks the rules in their order and executes what they propose. It
// is the only writer of the run's own events. It edits no files and calls no model.
package conductor
