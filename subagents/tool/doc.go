// Package tool runs the tool calls of a model: Set checks the arguments of a call against the tool's schema, with all errors at
// once, runs it, and bounds what it returns; New makes a tool of a Go function, whose argument struct is its declaration.
// Its input is a call and its output a result that the model reads, also where the call failed: then it says what to do
// instead. The tools themselves are in the packages below. It never panics, and knows neither the bus nor the turn loop.
package tool
