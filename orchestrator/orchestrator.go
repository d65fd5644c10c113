// Package orchestrator carries out runs for the program that embeds it: a goal or a plan on one repository, by agents in work
// trees of their own, proven by gates, landed on one new branch. It takes the documented formats as bytes (docs/plan.md,
// docs/roles.md) and yields the events of a run's log as the documented JSON (docs/log.md). It never changes the repository
// but for that branch, prints nothing, and logs to the zerolog logger of its context. It needs git in PATH, reads the keys of
// models from the environment, and on Linux starts this program again as the first process of each confined command; on other
// systems commands run with the rights of this process.
package orchestrator
