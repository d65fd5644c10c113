package sandbox

import (
	"cmp"
	"encoding/gob"
	"errors"
	"fmt"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"divisi/internal/sandbox/stage"
)

// compose reports what a stage does, and opens the trees that only this process can open.
func compose(l Level, c Command, id string) (config *stage.Config, trees []*os.File, err error) {
	shown := c.Place
	if l.have(Namespaces) {
		shown = c.Place.shown(l)
	}
	v, err := newView(c, shown)
	if err == nil {
		c, err = c.withGitConfig(l)
	}
	if err == nil {
		err = v.addDownloads(l, c.Place.Downloads, shown.Downloads, id)
	}
	if err != nil {
		return nil, nil, err
	}
	config = &stage.Config{
		Landlock: l.have(Landlock), Seccomp: l.have(Seccomp), Own: l.have(Namespaces), Inet: l.have(Namespaces) || c.Network,
		Args: c.Args, Dir: c.Place.path(c.Dir, shown), Limits: limits(c),
	}
	if !l.have(Namespaces) {
		config.Env = c.withUsersProxies().environment(shown, JobVar+"="+id)
		config.Reads, config.Writes = v.rules()
		return config, nil, nil
	}
	config.Env = c.withOwnProxy().environment(shown)
	config.Root = &stage.Root{
		Mounts: v.mounts(), Files: files(c.Place), Host: userName, MaxTemp: maxTemp,
	}
	config.Reads, config.Writes = []string{"/"}, []string{"/tmp", "/dev"}
	for _, m := range v.given {
		if m.Write && m.Below == "" {
			config.Writes = append(config.Writes, m.To)
		}
	}
	if l.ownUser() {
		config.Root.Mounts, trees, err = openTrees(config.Root.Mounts)
	}
	passed := stage.FirstTree + len(trees)
	if c.Network { // it is passed on behind the trees
		config.Root.Proxy, config.Root.Port = passed, proxyPort
		passed++
	}
	if k := c.Place.Keeper; k != nil && err == nil {
		if k.loopback && c.Network {
			err = fmt.Errorf("%w: the network of its keeper leads nowhere", ErrInvalid)
		}
		config.Root.Connected = k.loopback
		config.Root.Mounts = append(config.Root.Mounts, k.views(c.Place, passed)...)
		for _, m := range k.held {
			if m.To != seenTree { // which is there already
				config.Writes = append(config.Writes, m.To)
			}
		}
	}
	return config, trees, err
}

func limits(c Command) stage.Limits {
	if c.MaxMemory == 0 {
		c.MaxMemory = cmp.Or(c.Place.Owner.MaxMemory, halfOfMemory())
	}
	if c.MaxProcesses <= 0 {
		c.MaxProcesses = cmp.Or(c.Place.Owner.MaxProcesses, 4096+256*runtime.NumCPU())
	}
	return stage.Limits{
		FileSize: cmp.Or(c.Place.Owner.MaxFile, maxFileSize), OpenFiles: maxOpenFiles, Processes: uint64(c.MaxProcesses),
		// No process can use more before the command's time is over; one that survives that is ended by it.
		CPU:    uint64((c.Timeout+c.Grace)/time.Second+1) * uint64(runtime.NumCPU()),
		Memory: max(c.MaxMemory, 0), Look: lookAtMemory, Idle: c.Idle,
	}
}

// halfOfMemory is half of what the machine has, in bytes.
var halfOfMemory = sync.OnceValue(func() int64 {
	var info unix.Sysinfo_t
	if unix.Sysinfo(&info) != nil {
		return 0 // no bound rather than a wrong one
	}
	return int64(info.Totalram) * int64(info.Unit) / 2
})

// inMemory is a file with the config that has no name anywhere.
func inMemory(config *stage.Config) (*os.File, error) {
	fd, err := unix.MemfdCreate("divisi-command", unix.MFD_CLOEXEC)
	if err != nil {
		return nil, fmt.Errorf("write the command: %w", err)
	}
	f := os.NewFile(uintptr(fd), "divisi-command")
	if err := gob.NewEncoder(f).Encode(config); err != nil {
		return nil, errors.Join(fmt.Errorf("write the command: %w", err), f.Close())
	}
	return f, nil
}
