// Package mcp lets an agent use the tools of servers that speak the Model Context Protocol: programs that run confined beside
// the agent's own commands, and addresses that are called by streamable HTTP. Whatever a server says, names, descriptions,
// schemas and results, is data: it is cleaned, bounded and quoted before a model sees it. A server that dies or hangs is started
// once more in an attempt; after that its tools say so.
package mcp
