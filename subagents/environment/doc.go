// Package environment keeps the results of a repository's setup (ignored paths, tools, stores) for every work tree of every run.
// Its input is a recipe, which is all that the content depends on, and a directory that a setup has filled; its output an
// Environment, complete or not there at all. It runs no command, follows no link that a setup has left, and never changes an
// environment that is complete.
package environment
