// Package compile makes the request of one model call. Its input is what the agent was given, its own events and the tail of
// this turn; its output is a Request, with a trace of what each of the ten processors did. The same input gives the same bytes.
// It never fails on a history, and never reads or writes anything.
package compile
