// Package mcp lets an agent use the tools of servers that speak the Model Context Protocol: programs that run confined beside
// the agent's own commands, and addresses that are called by streamable HTTP. Its input are the definitions of a role's
// servers, its output are tools for a Set. A server's names, descriptions, schemas and results are data: they are cleaned,
// bounded and quoted before a model sees them. It never starts a failing server more than once again in an attempt; after
// that its tools report the failure.
package mcp
