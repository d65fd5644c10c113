// Package assign makes what one attempt is given, once, when the attempt is dispatched, and stores it as a sealed object.
// Redelivery, resume and the context command read that object. It never changes the run.
package assign
