// Package worker takes assignments off the queues of the bus, prepares a place for each, has the role's executor carry it out (a
// model agent, a command, or the gates) and appends the result. Master, reader, generator, tester and every role that a user
// invents are the same code with another role file. It decides nothing about a run: it never retries an attempt, and a lost
// worker costs a delivery and never a paid answer, because everything that an attempt does is an event in its journal.
package worker
