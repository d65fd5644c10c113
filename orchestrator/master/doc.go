// Package master decides when the master is woken, what its message contains, and which questions of agents it answers. Its
// input is the state of the run, its output are actions and the text of the message. It never calls a model.
package master
