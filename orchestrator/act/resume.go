package act

// Resume continues a run that was stopped, or whose process was killed.
type Resume struct{}

// Act implements Args.
func (Resume) Act() string { return "resume" }

var _ = define[Resume](Entry{
	Help: "Continue a run that was stopped, or whose process was killed. One that has used up its budget needs a person.",
	Who:  Local | Owner, On: AtRest, Undo: "pause",
}, nil)
