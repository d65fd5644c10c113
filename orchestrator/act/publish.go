package act

import "divisi/orchestrator/run"

// Publish puts what has landed in a run that no process conducts into the repository, as its branch.
type Publish struct{}

// Act implements Args.
func (Publish) Act() string { return "publish" }

var _ = define[Publish](Entry{
	Fits: func(s *run.State, _ *run.Task) bool { return s.Head != s.Spec.Base && s.Ref == "" },
	Next: func(*run.State, *run.Task) string { return "hand on what has landed so far" },
	Help: "Publish the landed commits of a stopped or cancelled run as its branch.",
	Who:  Local, On: AtRest | Ended, Doors: Command | API,
}, nil)
