package tester

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/text"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
)

// maxManifests is how many changed files a message names.
const maxManifests = 3

// dependencies makes the environment fit the tested tree where that has other manifests than the base commit: the setup runs
// again, over the environment and never with the network, because the tree says what it runs. Where it fails, the environment has
// not what the tree needs.
func (t *Executor) dependencies(ctx context.Context) (*hindrance, error) {
	setup := &t.Assignment.Project.Setup
	reads := environment.Reads(setup)
	if t.Assignment.Base || t.Assignment.Environment == "" || reads == nil {
		return nil, nil
	}
	changed, err := t.Changed(ctx, t.Origin)
	if err != nil {
		return nil, fmt.Errorf("list the changes since the base commit: %w", err)
	}
	changed = slices.DeleteFunc(changed, func(name string) bool { return !reads(name) })
	if len(changed) == 0 {
		return nil, nil
	}
	release, err := t.Limiter.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	h, err := t.setUpAgain(ctx, changed)
	if err != nil {
		return nil, fmt.Errorf("set up again: %w", err)
	}
	if _, err := t.Restore(ctx); err != nil {
		return nil, fmt.Errorf("restore the tree after setup: %w", err)
	}
	if h == nil {
		t.noted = append(t.noted, "setup ran again without network, because dependencies changed: "+some(changed))
	}
	return h, nil
}

func some(files []string) string { return strings.Join(text.Few(files, maxManifests), ", ") }

func (t *Executor) setUpAgain(ctx context.Context, changed []string) (*hindrance, error) {
	setup := &t.Assignment.Project.Setup
	heard, stop := t.listen("setup without network: " + strings.Join(setup.Command, " "))
	defer stop()
	g, err := t.Fresh(sandbox.Gates)
	if err != nil {
		return nil, err
	}
	env, readable, _ := sandbox.Downloads(t.Environ) // caches are kept by the addresses that these name
	whole := &transcript{}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: setup.Command, Dir: t.Dir, Env: append(env, g.Env...), Place: g.Place, Writable: g.Writable,
		Readable: append(readable, g.Readable...), Loopback: t.Assignment.Role.Loopback,
		Timeout: min(gate.DefaultTimeout, t.Bounds.Left()), Sink: whole, OnOutput: heard,
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var why string
	switch {
	case missing(err):
		why = err.Error()
	case err != nil:
		return nil, err
	case out.Success():
		return nil, nil
	case out.TimedOut:
		why = setup.Command[0] + " did not end in time"
	default:
		why = gate.HowEnded(setup.Command, out)
	}
	if err := t.Room.Lack(append([]string{g.Place.Temp, t.Dir}, g.Writable...)...); err != nil {
		return nil, err // a full disk is not what the patch has done
	}
	h := &hindrance{
		signature: "setup: dependencies of " + some(changed) + " are not in the environment",
		message:   "its dependencies are not in the environment: " + why + "; add them to the base and start a new run",
		paths:     changed, late: environment.InstallsItself(setup),
	}
	if out != nil {
		h.output = text.Tail(out.Text(), gate.MaxTail)
	}
	h.stored, err = t.keep(ctx, whole, true)
	return h, err
}
