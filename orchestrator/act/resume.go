package act

// Resume continues a run that was stopped, or whose process was killed.
type Resume struct{}

// Act implements Args.
func (Resume) Act() string { return "resume" }

var _ = define[Resume](Entry{
	Key:  "r",
	Help: "Continue a stopped or killed run. Only a person can raise a budget that is used up.",
	Who:  Local | Owner, On: AtRest, Undo: "pause",
}, nil)
