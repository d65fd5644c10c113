package stage

import "golang.org/x/sys/unix"

// arch is how the kernel names the processor, which has one set of numbers only.
const (
	arch    = unix.AUDIT_ARCH_AARCH64
	foreign = 0
)

// deniedHere are the denied calls that only this processor has.
var deniedHere = []uint32{}

// deviceCalls make device files, among others; the value is the place of their mode among the arguments.
var deviceCalls = map[uint32]int{unix.SYS_MKNODAT: 2}
