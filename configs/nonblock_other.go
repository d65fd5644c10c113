//go:build !unix

package configs

// openNonblock is empty where opening a file never waits for a writer.
const openNonblock = 0
