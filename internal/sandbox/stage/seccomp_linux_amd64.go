package stage

import "golang.org/x/sys/unix"

// arch is how the kernel names the processor; calls from foreign on are those of the x32 interface, which has numbers of its own.
const (
	arch    = unix.AUDIT_ARCH_X86_64
	foreign = 0x40000000
)

// deniedHere are the denied calls that only this processor has.
var deniedHere = []uint32{
	unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_MODIFY_LDT, unix.SYS_USELIB, unix.SYS_CREATE_MODULE, unix.SYS_GET_KERNEL_SYMS,
	unix.SYS_QUERY_MODULE, unix.SYS__SYSCTL, unix.SYS_USTAT,
}

// deviceCalls make device files, among others; the value is the place of their mode among the arguments.
var deviceCalls = map[uint32]int{unix.SYS_MKNOD: 1, unix.SYS_MKNODAT: 2}

// shared are the calls that reach what other processes share, where the command has no namespace of its own for that.
var shared = []uint32{
	unix.SYS_SHMGET, unix.SYS_SHMAT, unix.SYS_SHMCTL, unix.SYS_MSGGET, unix.SYS_MSGSND, unix.SYS_MSGRCV, unix.SYS_MSGCTL,
	unix.SYS_SEMGET, unix.SYS_SEMOP, unix.SYS_SEMTIMEDOP, unix.SYS_SEMCTL, unix.SYS_MQ_OPEN, unix.SYS_MQ_UNLINK,
}
