// Package contextscope turns a log of events into what one model call sees. Sessions and slices are views of events;
// the compiler is an ordered list of processors, each leaving a trace. It is pure: it knows nothing of NATS, git or HTTP.
package contextscope
