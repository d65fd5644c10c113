// Package adk compiles a session that another program recorded, given as JSON, as Google's ADK builds the contents of a request,
// or, if the session asks for it, as the API of the model demands. Its output are contents and a trace. The healing that foreign
// histories need is here; the compiler of a run's own agents never uses it.
package adk
