// Package schedule decides which pending tasks start now, which can never start, and what becomes of a failed attempt: another
// one, or parking. Its input is the run's state alone.
package schedule
