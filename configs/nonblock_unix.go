//go:build unix

package configs

import "syscall"

// openNonblock keeps the opening of a pipe without a writer from waiting for one.
const openNonblock = syscall.O_NONBLOCK
