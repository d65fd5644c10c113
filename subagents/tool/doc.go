// Package tool holds what an agent can do: look at the work tree, change it inside its write set, run confined commands and
// submit its result. Every path goes through the root of the work tree, arguments are checked against the declared schema
// with all faults at once, and whatever goes wrong is a result that says what to do instead.
package tool
