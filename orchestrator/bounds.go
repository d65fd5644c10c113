package orchestrator

const (
	// maxParallel bounds the agents at once: each has a work tree of its own.
	maxParallel     = 1000
	defaultParallel = 16
	// outputsDir is where a run's directory has the whole output of gates and setup that failed.
	outputsDir = "outputs"
)
