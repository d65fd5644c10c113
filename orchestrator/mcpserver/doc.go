// Package mcpserver offers the runs of one place as tools of the Model Context Protocol, so that an agent in an editor can hand
// over a large refactor. Its input are calls of one client and what the dashboard reads of runs; its output are bounded answers
// as JSON, and acts of the dashboard's Controller. It holds no run: when the client is gone, the server ends and every run goes
// on. A client is a program and not a person: what is about trust it may read, and a person decides it elsewhere.
package mcpserver
