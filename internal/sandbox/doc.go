// Package sandbox runs the commands of agents, gates and setup confined: they see and write only what they were given, reach
// no network but the proxy, and leave no process behind; their time, memory and output are bounded. Its input is a Command,
// its output the bounded output and exit code. It never drops a layer silently: Probe reports what the machine cannot give
// before a command runs.
package sandbox
