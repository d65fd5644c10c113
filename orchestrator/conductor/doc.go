// Package conductor holds a run. Its input is the log, and the requests and answers of people; one goroutine folds the log,
// asks the rules in their order and executes the actions that they propose. Its output are the run's own events, whose only
// writer it is, the queue and the integration branch. It never edits a file and calls no model.
package conductor
