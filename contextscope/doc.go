// Package contextscope turns a log of events into what one model call sees. Sessions and slices are views of events;
// the compiler is an ordered list of processors, each leaving a trace. It is pure: it knows nothing of NATS, git or HTTP,
// and it never fails on a history: what is broken is healed and the trace says so.
//
// Contents are shared, not copied: what Compile returns points into the events that it was given, so both are read-only.
package contextscope
