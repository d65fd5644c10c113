// Package subagents is the one agent runtime: master, reader, generator, tester and every role that a user invents are the
// same code with another role file. A Worker takes assignments from the bus and carries each out with the role's executor
// (a model agent, a command, or the gates); everything that an attempt does is an event in its Journal, and what to do next
// is computed from those events alone, so that a lost worker costs a delivery and never a paid answer.
package worker
