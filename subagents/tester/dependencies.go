package tester

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
)

// maxManifests is how many changed files a message names.
const maxManifests = 3

// dependencies makes the environment fit the tested tree where that has other manifests than the base commit, or other files
// that setup read: the setup runs again, over the environment and never with the network, because the tree tells what it runs.
// Where it fails because of manifests, the environment has not what the tree needs; because of other files, what they do is not
// proven.
func (t *Executor) dependencies(ctx context.Context) (*hindrance, error) {
	if t.Assignment.Environment == "" {
		return nil, nil
	}
	derived, err := t.outdatedPlaces(ctx)
	if err != nil {
		return nil, fmt.Errorf("compare what setup has read: %w", err)
	}
	changed, read, err := t.changedInputs(ctx, len(derived) > 0)
	if err != nil || len(changed)+len(read)+len(derived) == 0 {
		return nil, err
	}
	release, err := t.Limiter.Acquire(ctx)
	if err != nil {
		return nil, err
	}
	defer release()
	all := append(slices.Clip(changed), read...)
	h, err := t.setUpAgain(ctx, all, derived)
	if err == nil && h != nil && t.Assignment.Base {
		err = errors.New(h.message) // nothing could be compared with it
	}
	if err != nil {
		return nil, fmt.Errorf("set up again: %w", err)
	}
	if h != nil && len(changed)+len(derived) == 0 {
		t.madeOf = map[string]bool{}
		for _, name := range read {
			t.madeOf[name] = true
			t.unproven = append(t.unproven, spec.Unread{
				Path: name, Grade: spec.GradeUnknown, Source: true,
				Reason: "setup reads it, and does not run again without network: " + h.why,
			})
		}
		return nil, t.Places.Lay(ctx, t.Under)
	}
	if _, err := t.Restore(ctx); err != nil {
		return nil, fmt.Errorf("restore the tree after setup: %w", err)
	}
	if h == nil && len(all) > 0 {
		t.noted = append(t.noted, "setup ran again without network, because dependencies changed: "+some(all))
	}
	return h, nil
}

// changedInputs are the files in which the tested tree differs from the base commit and which decide what setup installs, and
// those that may do so. Of the latter there are none where places are made again from what setup read.
func (t *Executor) changedInputs(ctx context.Context, again bool) (known, read []string, err error) {
	if t.Assignment.Base || t.Under == nil || len(t.Assignment.Project.Setup.Command) == 0 {
		return nil, nil, nil
	}
	changed, err := t.Changed(ctx, t.Origin)
	if err != nil {
		return nil, nil, fmt.Errorf("list the changes since the base commit: %w", err)
	}
	for _, name := range changed {
		if may, certain := t.Under.Decides(&t.Assignment.Project.Setup, name); may && certain {
			known = append(known, name)
		} else if may && !again {
			read = append(read, name)
		}
	}
	return known, read, nil
}

func some(files []string) string { return strings.Join(text.Few(files, maxManifests), ", ") }

// groundAgain prepares the setup without network, where some places are to be made again.
func (t *Executor) groundAgain(places []string) (Ground, error) {
	g, err := t.Fresh(sandbox.Gates)
	if err != nil {
		return g, err
	}
	env, readable, _ := sandbox.Downloads(t.Environ) // caches are kept by the addresses that these name
	g.Env, g.Readable = append(env, g.Env...), append(readable, g.Readable...)
	return g, t.without(places)
}

// setUpAgain runs the setup once more in the tested tree, where some places are to be made again.
func (t *Executor) setUpAgain(ctx context.Context, changed, places []string) (*hindrance, error) {
	setup := &t.Assignment.Project.Setup
	heard, stop := t.listen("setup without network: " + strings.Join(setup.Command, " "))
	defer stop()
	g, err := t.groundAgain(places)
	if err != nil {
		return nil, err
	}
	whole := &transcript{}
	where := gate.Where{
		Dir: t.Dir, Tree: t.Tree, Env: g.Env, Place: g.Place, Writable: g.Writable, Readable: g.Readable,
		Loopback: t.Assignment.Role.Loopback,
	}
	var reading *grade.Reading
	if len(places) > 0 && !t.Assignment.Base && t.madeOf == nil {
		if reading, err = t.watch(ctx, asGate([]string{unknown}), &where); err != nil {
			return nil, err
		}
	}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: setup.Command, Dir: t.Dir, Env: where.Env, Place: g.Place, Writable: g.Writable, Readable: where.Readable,
		Loopback: where.Loopback, Timeout: min(gate.DefaultTimeout, t.Bounds.Left()), Sink: whole, OnOutput: heard,
	})
	if reading != nil {
		err = cmp.Or(err, reading.End())
	}
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	var why string
	switch {
	case missing(err):
		why = err.Error()
	case err != nil:
		return nil, err
	case out.Success() && len(t.lacking(whole)) > 0:
		why = "not installed: " + some(t.lacking(whole))
	case out.Success() && reading != nil:
		return t.findMadeOf(ctx, reading, where, places)
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
		signature: "setup: dependencies of " + some(changed) + " are not in the environment", why: why,
		message: "its dependencies are not in the environment: " + why + "; add them to the base and start a new run",
		paths:   changed, late: environment.InstallsItself(setup),
	}
	if len(changed) == 0 {
		h.signature, h.message = "setup: it does not make "+some(places), "setup does not make "+some(places)+" again: "+why
	}
	if out != nil {
		h.output = text.Tail(out.Text(), gate.MaxTail)
	}
	h.stored, err = t.keep(ctx, whole, true)
	return h, err
}
