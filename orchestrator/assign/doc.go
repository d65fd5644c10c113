// Package assign seals the assignment of one attempt, once, when the attempt is dispatched. Its input is the state of the
// run, the mirror and the sessions in the log; its output is one object in the store, which every delivery, resume and the
// context command read. It never changes the run and seals no attempt twice.
package assign
