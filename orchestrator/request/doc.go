// Package request answers the requests of agents and people during a run: delegation, transfer, questions, write access,
// messages, cancellation. Its input is the state with the open requests, its output are actions: answers, tasks and messages.
// It never sends anything itself.
package request
