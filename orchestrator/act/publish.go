package act

// Publish puts what has landed in a run that no process conducts into the repository, as its branch.
type Publish struct{}

// Act implements Args.
func (Publish) Act() string { return "publish" }

var _ = define[Publish](Entry{
	Help: "Publish the landed commits of a stopped or cancelled run as its branch.",
	Who:  Local, On: AtRest | Ended, Doors: Command | Page,
}, nil)
