// Package schedule decides which pending tasks start now, which can never start, and why the others wait. Its input is the run's
// state alone, its output are actions. It never reads a clock and never walks a task that has ended.
package schedule
