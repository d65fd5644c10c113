package spec

import "fmt"

// DefaultAttempts is how often a task is tried when it does not say.
const DefaultAttempts = 3

// WithDefaults returns the task with every empty field filled from its role and the built-in defaults. It is applied
// once, when a plan is taken; slices are shared with the receiver.
func (t Task) WithDefaults(role Role) Task {
	if t.Inputs == nil {
		t.Inputs = t.DependsOn
	}
	if t.Verify == "" {
		t.Verify = RoleTester
	}
	if t.Attempts == 0 {
		t.Attempts = DefaultAttempts
	}
	if t.IncludeContents == "" {
		t.IncludeContents = role.IncludeContents
	}
	if t.IncludeContents == "" {
		t.IncludeContents = IncludeNone
	}
	if len(t.Command) == 0 {
		t.Command = role.Command
	}
	t.Limits = t.Limits.Or(role.Limits)
	return t
}

// Or returns the limits with every zero replaced by the other's value.
func (l Limits) Or(other Limits) Limits {
	if l.Turns == 0 {
		l.Turns = other.Turns
	}
	if l.Tokens == 0 {
		l.Tokens = other.Tokens
	}
	if l.Time == 0 {
		l.Time = other.Time
	}
	return l
}

// ShardID names the n-th task (from 1) that a template is expanded to.
func ShardID(template string, n int) string { return fmt.Sprintf("%s-%03d", template, n) }
