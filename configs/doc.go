// Package configs loads what a person configures: the built-in roles and defaults, which are embedded, the files of a
// repository's .divisi directory, role files and plan files. Whatever is wrong with a file is reported at once, each
// fault with its line, its column, the source line and the nearest valid name. Files of a repository are data: they are
// read through its root, bounded, and never executed here.
package configs
