package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"divisi/internal/sandbox"
)

// tmpfs: tmpfs DIR SIZE mounts a file system of that size for the rest of the script.
func tmpfs(ts *testscript.TestScript, _ bool, args []string) {
	dir := ts.MkAbs(args[0])
	if there, err := filepath.Glob(dir); err == nil && len(there) == 1 {
		dir = there[0]
	}
	ts.Check(os.MkdirAll(dir, 0o700))
	ts.Check(mount(dir, args[1]))
	ts.Defer(func() { ts.Check(unmount(dir)) })
}

func mount(dir, size string) error {
	out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size="+size, "none", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("mount a tmpfs: %w: %s", err, out)
	}
	return nil
}

func unmount(dir string) error {
	out, err := exec.Command("umount", dir).CombinedOutput()
	if err != nil {
		return fmt.Errorf("unmount: %w: %s", err, out)
	}
	return nil
}

// canMount reports whether this user may mount a file system here, which takes root in most places.
var canMount = sync.OnceValue(func() bool {
	dir, err := os.MkdirTemp("", "divisi-mount-")
	if err != nil {
		return false
	}
	defer func() { _ = os.Remove(dir) }()
	return mount(dir, "1m") == nil && unmount(dir) == nil
})

// condition knows [tmpfs]: whether the tmpfs command works here.
func condition(name string) (bool, error) {
	switch name {
	case "tmpfs":
		return canMount(), nil
	case "confined":
		return sandbox.Probe().Strict() == nil, nil
	default:
		return false, fmt.Errorf("unknown condition %q", name)
	}
}
