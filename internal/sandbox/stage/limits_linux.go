package stage

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// lowestPriority is the niceness of a command that waits for everything else.
const lowestPriority = 19

const (
	yieldTries = 10
	yieldWait  = 50 * time.Millisecond
)

// set binds this process and what it will start. It can only lower what the parent had. own says that the users are the command's
// alone: only then does the kernel count no other processes.
func (l *Limits) set(own bool) error {
	limits := map[int]uint64{
		unix.RLIMIT_FSIZE: l.FileSize, unix.RLIMIT_NOFILE: l.OpenFiles, unix.RLIMIT_CPU: l.CPU,
	}
	if own {
		limits[unix.RLIMIT_NPROC] = l.Processes + spare
	}
	for resource, most := range limits {
		if most == 0 {
			continue
		}
		if err := lower(resource, most); err != nil {
			return err
		}
	}
	if err := unix.Setrlimit(unix.RLIMIT_CORE, &unix.Rlimit{}); err != nil {
		return fmt.Errorf("forbid core dumps: %w", err)
	}
	if l.Idle {
		if err := unix.Setpriority(unix.PRIO_PROCESS, 0, lowestPriority); err != nil {
			return fmt.Errorf("lower the priority: %w", err)
		}
	}
	// When the machine runs out of memory, a command goes before anything of the user's. Not every machine lets it be said.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("500"), 0)
	return nil
}

func lower(resource int, most uint64) error {
	var had unix.Rlimit
	if err := unix.Getrlimit(resource, &had); err != nil {
		return fmt.Errorf("read limit %d: %w", resource, err)
	}
	most = min(most, had.Max)
	if err := unix.Setrlimit(resource, &unix.Rlimit{Cur: most, Max: most}); err != nil && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("set limit %d: %w", resource, err)
	}
	return nil
}

// yield gives the session of the command the priority that its processes have: Linux may share the processors among sessions
// first. Not every machine lets it be said, and none twice in a tenth of a second.
func (l *Limits) yield(child int) {
	if !l.Idle || child <= 0 {
		return
	}
	for range yieldTries {
		err := os.WriteFile(fmt.Sprintf("/proc/%d/autogroup", child), []byte(strconv.Itoa(lowestPriority)), 0)
		if !errors.Is(err, unix.EAGAIN) {
			return
		}
		_ = unix.Nanosleep(&unix.Timespec{Nsec: int64(yieldWait)}, nil)
	}
}
