// Package run folds the event log of a run into its State. Its input is events, its output the state and the queries on it; it
// holds the payloads and ids of the events that the conductor writes. It does no I/O, reads no clock and decides nothing.
package run
