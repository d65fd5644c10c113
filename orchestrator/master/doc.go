// Package master decides when the master is woken, what it is told then, and which questions of agents it answers. It calls no
// model.
package master
