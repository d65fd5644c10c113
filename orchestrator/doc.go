// Package orchestrator conducts a run: it folds the event log into the run's state, decides what comes next, puts attempts
// on the queue, lands what is proven and reports. Everything that it knows can be folded from the log again.
package orchestrator
