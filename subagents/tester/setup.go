package tester

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"strings"

	"divisi/contextscope/artifact"
	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// setup runs the setup command, unless it has a key and the last setup of the repository was the same. The result is not nil when
// it failed.
func (t *Executor) setup(ctx context.Context) (bad *spec.Result, err error) {
	if len(t.Assignment.Setup) == 0 {
		return nil, nil
	}
	g, err := t.Fresh(sandbox.Setup)
	if err != nil {
		return nil, err
	}
	env, readable, leftOut := sandbox.Downloads(t.Environ)
	g.Env, g.Readable = append(env, g.Env...), append(readable, g.Readable...)
	key, err := t.setupKey(ctx, g)
	if err != nil {
		return nil, err
	}
	switch had, err := t.Caches.HasSetup(key); {
	case err != nil:
		return nil, err
	case had:
		t.noted = append(t.noted, "setup did not run again: what it depends on is the same as in its last run")
		return nil, nil
	}
	end, err := t.Caches.BeginSetup()
	if err != nil {
		return nil, err
	}
	bad, err = t.runSetup(ctx, g, leftOut)
	if bad != nil || err != nil {
		return bad, errors.Join(err, end(""))
	}
	tools, err := os.ReadDir(g.Place.Tools)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if key != "" && len(tools) > 0 {
		t.noted = append(t.noted, "setup runs again in the next run despite its key: it left files in $"+sandbox.ToolsVar+
			", which each run has for itself")
		key = ""
	}
	return nil, errors.Join(err, end(key))
}

// setupKey stands for what a setup with a key depends on: its command, its environment, and the files that it names. It is empty
// for a setup without one. Directories that are made for each attempt, and the run's own names, are left out.
func (t *Executor) setupKey(ctx context.Context, g Ground) (string, error) {
	project := &t.Assignment.Project
	if len(project.Setup.Key) == 0 {
		return "", nil
	}
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return "", fmt.Errorf("read the files that setup depends on: %w", err)
	}
	files := map[string]string{}
	for _, name := range project.Setup.Key {
		files[name] = blobs[name]
	}
	seen, env := g.Place.Seen(), []string{}
	own := strings.NewReplacer(seen.Home, "HOME", seen.Temp, "TEMP", seen.Tools, "TOOLS")
	for _, v := range g.Env {
		if name, _, _ := strings.Cut(v, "="); name != sandbox.RunVar {
			env = append(env, own.Replace(v))
		}
	}
	return artifact.Digest([]byte(spec.JSONText([]any{
		t.Assignment.Setup, project.Loopback, env, files, runtime.GOOS, runtime.GOARCH,
	}))), nil
}

// runSetup runs the setup command. It has the network, whatever the role says, because it is there to install what the gates
// need. The result is not nil when it failed.
func (t *Executor) runSetup(ctx context.Context, g Ground, leftOut []string) (*spec.Result, error) {
	args := t.Assignment.Setup
	heard, stop := t.listen("setup: " + strings.Join(args, " "))
	defer stop()
	whole := &transcript{}
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: args, Dir: t.Dir, Env: g.Env, Place: g.Place, Writable: g.Writable, Readable: g.Readable, Network: true,
		Loopback: t.Assignment.Project.Loopback,
		Timeout:  t.Bounds.Left(), Sink: whole, OnOutput: heard,
	})
	if cause := context.Cause(ctx); cause != nil {
		return nil, cause
	}
	if missing(err) {
		bad := wire.Failed(wire.FaultSetup, "setup: "+err.Error(), "")
		return &bad, nil
	}
	if err != nil {
		return nil, fmt.Errorf("run setup: %w", err)
	}
	if !out.Success() {
		if err := machine.Room(append([]string{g.Place.Temp, g.Place.Tools, t.Dir}, g.Writable...)...); err != nil {
			return nil, fmt.Errorf("run setup: %w", err)
		}
		why := "setup: " + gate.HowEnded(args, out) + unlikeYours(out, leftOut)
		bad := wire.Failed(wire.FaultSetup, why, text.Tail(out.Text(), gate.MaxTail))
		bad.Error.Output, err = t.keep(ctx, whole, true)
		return &bad, err
	}
	if err := t.Reset(ctx); err != nil {
		return nil, fmt.Errorf("clean the tree after setup: %w", err)
	}
	return nil, nil
}

// unlikeYours names what a setup that failed could not use or reach and the user's own command could.
func unlikeYours(out *sandbox.Output, leftOut []string) string {
	text := ""
	if len(leftOut) > 0 {
		text += "; it did not see settings of yours that hold a login: " + strings.Join(leftOut, ", ")
	}
	var hosts, own []string
	for _, refused := range out.Refused {
		if hosts = append(hosts, refused.Host); refused.OfThisMachine() {
			own = append(own, refused.Host)
		}
	}
	if len(hosts) > 0 {
		text += fmt.Sprintf("; its proxy refused %q", hosts)
	}
	if len(own) > 0 {
		text += fmt.Sprintf("; loopback: true in .divisi/divisi.yaml allows %q, addresses of this machine", own)
	}
	return text
}
