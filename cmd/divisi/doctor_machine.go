package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/sandbox"
)

func (d *doctor) git(ctx context.Context) []finding {
	g, err := git.New(ctx)
	if err != nil {
		return []finding{bad("git", "install git 2.38 or newer, and put it on your PATH", "%v", err)}
	}
	return []finding{fine("git", "git %s at %s", g.Version(), g.Path())}
}

func (d *doctor) sandbox(context.Context) []finding {
	level := sandbox.Probe()
	if level.Strict() == nil {
		return []finding{fine("sandbox", "%s", level)}
	}
	var untried *sandbox.UntriedError
	if errors.As(level.Strict(), &untried) {
		return []finding{bad("sandbox", "see that $TMPDIR is a directory that you can write, "+
			"and that you may have more processes: no command runs so", "%v", untried)}
	}
	found := []finding{warn("sandbox", "--sandbox=strict refuses to run so; docs/safety.md says what is open", "%s", level)}
	for _, layer := range level.Layers() {
		if !layer.Have {
			found = append(found, warn("sandbox", layer.Advice, "%s is missing: %s", layer.Name, layer.Why))
		}
	}
	return found
}

// probeTime bounds what a check waits for.
const probeTime = 20 * time.Second

// bus puts a task on a server and takes it away again: on the built-in one in a directory of its own, or the one that was named.
func (d *doctor) bus(ctx context.Context) []finding {
	what, do := "the built-in message server", "look at the error; --state-dir moves the state to another disk"
	o := bus.Options{URL: d.nats, Log: d.log}
	if d.nats == "" {
		dir, err := os.MkdirTemp("", "divisi-doctor-")
		if err != nil {
			return []finding{bad("bus", "make $TMPDIR a directory that you can write", "no temporary directory: %v", err)}
		}
		defer os.RemoveAll(dir) // an empty store
		o.Dir = dir
	} else {
		what, do = "the NATS server", "check the address and the credentials, and that its JetStream is on"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	begun := time.Now()
	if err := roundTrip(ctx, o); err != nil {
		return []finding{bad("bus", do, "%s does not work: %v", what, err)}
	}
	return []finding{fine("bus", "%s took a task and showed it (%s)", what, time.Since(begun).Round(time.Millisecond))}
}

func roundTrip(ctx context.Context, o bus.Options) (err error) {
	b, err := bus.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	run := "doctor-" + newRunID(now())
	filter := bus.TaskFilter(run)
	if err := b.Enqueue(ctx, bus.TaskSubject("doctor", run, "probe"), run, []byte("ping")); err != nil {
		return err
	}
	waiting, err := b.Queued(ctx, filter)
	if err == nil && len(waiting) != 1 {
		err = fmt.Errorf("it took one task, and now has %d", len(waiting))
	}
	return errors.Join(err, b.Purge(ctx, filter))
}

// state looks whether the state directory can be written, and by whom it can be read.
func (d *doctor) state(context.Context) []finding {
	dir, info, err := existing(d.stateDir)
	if err != nil {
		return []finding{bad("state", "choose a directory that you can write with --state-dir", "%v", err)}
	}
	probe, err := os.MkdirTemp(dir, ".divisi-doctor-")
	if err == nil {
		err = os.Remove(probe)
	}
	if err != nil {
		return []finding{bad("state", "choose another one with --state-dir, or give yourself the right to write it",
			"the state directory cannot be written: %v", err)}
	}
	if dir != d.stateDir {
		return []finding{fine("state", "%s is not there yet; it can be made in %s", d.stateDir, dir)}
	}
	if mode := info.Mode().Perm(); mode&0o077 != 0 {
		return []finding{warn("state", "chmod 700 "+quote(dir),
			"%s can be read by others (mode %04o): it holds what models and commands said", dir, mode)}
	}
	return []finding{fine("state", "%s can be written, by you alone", dir)}
}

// existing is the nearest directory above a path, or the path itself, that is there.
func existing(path string) (string, fs.FileInfo, error) {
	for dir := path; ; dir = filepath.Dir(dir) {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", nil, fmt.Errorf("%s is not a directory", dir)
		case err == nil:
			return dir, info, nil
		case !errors.Is(err, fs.ErrNotExist) || dir == filepath.Dir(dir):
			return "", nil, fmt.Errorf("the state directory cannot be looked at: %w", err)
		}
	}
}

// What a run should find free: a work tree for each agent, and build caches.
const (
	littleDisk   = 2 << 30
	noDisk       = 200 << 20
	littleInodes = 100_000
	noInodes     = 5_000
)

func (d *doctor) disk(context.Context) []finding {
	dir, _, err := existing(d.stateDir)
	if err != nil {
		return nil // the state was told of
	}
	room, ok := roomAt(dir)
	if !ok {
		return []finding{warn("disk", "see yourself that there is some", "this system does not tell how much room %s has", dir)}
	}
	f := fine("disk", "%s free at %s", bytesText(room.bytes), dir)
	if room.inodes >= 0 {
		f.Seen += fmt.Sprintf(", and room for %d files", room.inodes)
	}
	few := func(bytes uint64, inodes int64) bool {
		return room.bytes < bytes || room.inodes >= 0 && room.inodes < inodes
	}
	switch {
	case few(noDisk, noInodes):
		f.Status = statusProblem
	case few(littleDisk, littleInodes):
		f.Status = statusWarning
	}
	if f.Status != statusOK {
		f.Do = "free some space (old runs are in " + d.store().Runs() + "), or move the state with --state-dir"
	}
	return []finding{f}
}

func bytesText(n uint64) string {
	const unit = 1 << 10
	switch {
	case n >= unit*unit*unit:
		return fmt.Sprintf("%.1f GiB", float64(n)/(unit*unit*unit))
	default:
		return fmt.Sprintf("%d MiB", n/(unit*unit))
	}
}

// programs are what Divisi uses where it is there.
func (d *doctor) programs(ctx context.Context) []finding {
	rg := fine("ripgrep", "rg is not on your PATH; the built-in search finds the same, more slowly")
	if path, err := exec.LookPath("rg"); err == nil {
		rg = fine("ripgrep", "at %s", path)
	}
	const do = "install Universal Ctags, built with JSON"
	path, err := exec.LookPath("ctags")
	if err != nil {
		return []finding{rg, warn("ctags", do, "ctags is not on your PATH: the tool outline knows Go alone")}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--list-features").CombinedOutput()
	if err == nil && strings.Contains(string(out), "json") {
		return []finding{rg, fine("ctags", "at %s, with JSON", path)}
	}
	return []finding{rg, warn("ctags", do, "%s is no Universal Ctags with JSON: the tool outline knows Go alone", path)}
}
