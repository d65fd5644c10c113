// Package configs loads the configuration: the built-in roles and defaults, which are embedded, the files of a repository's
// .divisi directory, role files and plan files. Its output are the values of internal/spec, or all errors of a file at once,
// each with its line, its column, the source line and the nearest valid name. Files of a repository are data: they are read
// through its root, bounded, and never executed here.
package configs
