package orchestrator

const (
	// maxParallel bounds the agents at once: each has a work tree of its own.
	maxParallel     = 1000
	defaultParallel = 16
	// outputsDir is where a run's directory has the whole output of gates and setup that failed.
	outputsDir = "outputs"
)

const noLayers = "trees have neither the submodules of the repository nor what Git LFS keeps: " +
	"on this machine commands have no namespaces"
