package depot

const (
	// MaxParallel bounds the agents at once: each has a work tree of its own.
	MaxParallel = 1000
	// DefaultParallel is how many work at once where no file reports how many.
	DefaultParallel = 16
	// OutputsDir is where a run's directory has the whole output of gates and setup that failed.
	OutputsDir = "outputs"
)

// NoLayers reports what a machine lacks that cannot lay trees over one another.
const NoLayers = "trees have neither submodules nor contents of Git LFS: on this machine commands have no namespaces"
