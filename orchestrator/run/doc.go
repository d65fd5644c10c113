// Package run folds the event log of a run into its State. Its input are events, its output is the state with its indexes and
// queries; it holds the payloads and ids of the events that the conductor writes, and the actions that rules propose. It
// never does I/O, reads no clock and decides nothing.
package run
