// Package console shows a run in a terminal while it runs, and writes it as plain lines or as JSON lines where there is no
// terminal. Its input are the events of the log, its output is text. It never reads keys and never changes the terminal's
// mode, so that it can be interrupted at any time.
package console
