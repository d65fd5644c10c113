// Package view computes the displays of runs. The terminal, its board, the page, the server of tools, Markdown and JSON render
// it, and compute nothing. Its input is the state of a run; its output is the report, the tasks, agents, groups and open
// decisions, and the notes that the run proposes for later runs. Everything in a report was measured; nothing is claimed. It
// prints nothing and makes no foreign text safe. The packages below it have the figures, the next commands, the events in words,
// and the page.
package view
