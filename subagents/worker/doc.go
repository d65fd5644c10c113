// Package worker takes assignments off the queues of the bus, gives each a slot, runs the role's executor (a model agent, a
// command, or the gates) and appends the result. Its input is the queue, its output are the events of the attempt's journal,
// among them the result. It never decides about a run and never retries an attempt; a worker that stops responding costs a
// delivery and never a paid answer, because every step of an attempt is an event in its journal.
package worker
