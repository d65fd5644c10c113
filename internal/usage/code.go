package usage

import "errors"

// The codes of errors, with their values. A code names what an error is about, for a program that adds its own words about what
// to do next: its flags and commands. The values are what those words need.
const (
	Active      = "active"       // a process carries the run out, which has to end first: run
	Approval    = "approval"     // a person has to approve the plan
	Auth        = "auth"         // a service has refused the key while the run was under way
	Began       = "began"        // the run was killed before it began: run
	Branch      = "branch"       // a branch is in the way of those of runs: branch
	Damaged     = "damaged"      // the log is damaged, and no process can continue the run: run
	Denied      = "denied"       // the state directory cannot be written
	Dirty       = "dirty"        // the checkout has changes that are not committed
	Events      = "events"       // the log has no events: run
	Format      = "format"       // the log has another format
	Full        = "full"         // a disk is full
	Goal        = "goal"         // there is neither a goal nor a plan
	Head        = "head"         // the checkout has no branch
	Held        = "held"         // another process has the log
	Key         = "key"          // there is no key for a service
	Line        = "line"         // a line of the input cannot be read: its number
	Log         = "log"          // what an attempt left tells more: run/task/attempt
	Login       = "login"        // what a coding agent keeps in a file serves, once a person agrees: agent
	Machine     = "machine"      // the machine lacked something for too long
	Elsewhere   = "elsewhere"    // the repository is not that of the run on a server: run
	Joined      = "joined"       // the server has been joined: its name
	Moved       = "moved"        // the repository is not where it was, or is another one: run
	NoCommits   = "no-commits"   // the repository is empty
	NoGates     = "no-gates"     // nothing could be proven
	NoOwner     = "no-owner"     // the process that carried the run out has ended
	NoRepo      = "no-repo"      // the directory is in no repository
	NothingLeft = "nothing-left" // the work of the plan is done
	NotApproved = "not-approved" // the plan was not approved
	Option      = "option"       // an option is wrong, by whose name the text begins
	Over        = "over"         // the run has ended: what can be done about it, each with a command
	Partial     = "partial"      // the clone lacks objects of the commit
	Person      = "person"       // only a person answers the decision: run, decision
	Preflight   = "preflight"    // the repository is not ready for a run
	ReadOnly    = "read-only"    // the repository cannot be written
	Role        = "role"         // a role file has to be named again: run, file
	Running     = "running"      // the run has to be paused first: run
	Server      = "server"       // the run's own server cannot be used
	ServerKeeps = "server-keeps" // the run could not be removed from its server: run
	Service     = "service"      // a service has failed while the run was under way
	Show        = "show"         // the report tells more: run, or run/task
	Snapshot    = "snapshot"     // what a run takes from the checkout is not sent unless a person says so
	Spent       = "spent"        // the budget is used up: run, twice the budget
	StateDir    = "state-dir"    // another state directory is needed
	Unproven    = "unproven"     // what lands could not be proven: run
	Unreadable  = "unreadable"   // an event of the conductor cannot be read, and no process can continue the run
)

// CodedError is an error with a code.
type CodedError struct {
	Code   string
	Values []any
	Err    error
}

// Error is that of Err.
func (e *CodedError) Error() string { return e.Err.Error() }

// Unwrap returns Err.
func (e *CodedError) Unwrap() error { return e.Err }

// With gives an error a code; nil stays nil.
func With(err error, code string, values ...any) error {
	if err == nil {
		return nil
	}
	return &CodedError{code, values, err}
}

// CodeOf returns the code of an error, the outermost where it has several, and its values.
func CodeOf(err error) (string, []any) {
	var c *CodedError
	if errors.As(err, &c) {
		return c.Code, c.Values
	}
	return "", nil
}

// Wrong is a mistake in an option, by whose name the text begins.
func Wrong(format string, args ...any) error { return With(Errorf(format, args...), Option) }
