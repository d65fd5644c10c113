// Package view puts a run into words for its displays. Its input is the state of a run, or one event of its log; its output is
// the report, the rows, phases, agents and lines that a terminal and the page show, and the notes that the run proposes for later
// runs. Everything in a report was measured; nothing is claimed. It prints nothing and makes no foreign text safe.
package view
