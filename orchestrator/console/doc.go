// Package console shows a run in a terminal while it goes on, and writes it as plain lines or as JSON lines where there is
// no terminal. Like the dashboard it is a view of the event log and of nothing else. It never reads keys and never changes
// the terminal's mode, so that it can be interrupted at any time.
package console
