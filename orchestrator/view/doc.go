// Package view computes the displays of runs. The terminal, its board, the page, the server of tools, Markdown and JSON render
// it, and compute nothing. Its input is the state of a run, or the events of its log; its output is the report, the rows, pages,
// phases, agents, lines and open decisions, and the notes that the run proposes for later runs. Everything in a report was
// measured; nothing is claimed. It prints nothing and makes no foreign text safe.
package view
