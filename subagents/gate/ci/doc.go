// Package ci reads which commands a repository's continuous integration runs, and finds out which of them the gates of a project
// run too. It reads files and runs nothing: what it cannot follow it names. All text in its results is the repository's.
package ci
