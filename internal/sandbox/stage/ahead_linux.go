package stage

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// arrive waits for the command of a stage that was started ahead, and has what came with it stand where the config expects it.
func (c *Config) arrive() error {
	fds, err := receive()
	if err != nil || len(fds) <= ConfigFD {
		unix.Exit(0) // the parent has ended, or gets no answer and starts another stage
	}
	order := make([]byte, 1)
	if _, err := unix.Write(ControlFD, order); err != nil {
		unix.Exit(0) // the parent has ended
	}
	if n, err := unix.Read(ControlFD, order); n == 0 || err != nil || order[0] != Begin {
		unix.Exit(0)
	}
	for i, fd := range fds[:ConfigFD] { // the standard streams
		if err := unix.Dup3(fd, i, 0); err != nil {
			return fmt.Errorf("take over the standard streams: %w", err)
		}
	}
	*c = Config{}
	if err := readConfig(fds[ConfigFD], c); err != nil {
		return err
	}
	c.Root.move(fds[ConfigFD+1:])
	return nil
}

// move replaces the numbers of descriptors by those that the trees have got. What follows them, the views of a keeper, the stage
// was started with.
func (r *Root) move(trees []int) {
	move := func(fd *int) {
		switch i := *fd - FirstTree; {
		case i < 0: // none
		case i < len(trees):
			*fd = trees[i]
		default:
			*fd -= len(trees)
		}
	}
	move(&r.Proxy)
	for i := range r.Mounts {
		move(&r.Mounts[i].FD)
		for j := range r.Mounts[i].Layers {
			move(&r.Mounts[i].Layers[j].FD)
		}
	}
}
