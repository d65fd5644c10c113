package stage

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
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
