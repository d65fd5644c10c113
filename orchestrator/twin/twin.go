// Package twin runs the setup and the gates of a project as the user would: outside the sandbox, in a plain clone, with the
// user's own environment, files and network. Its input are a commit, a project and the outcomes in the sandbox, its output the
// differences, each with its likely cause. It runs what the repository names, unconfined: the caller asks for trust before. It
// never writes to the user's checkout.
package twin

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"divisi/internal/machine"
	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/workspace"
)

// Setup is the name of the setup among outcomes.
const Setup = "setup"

// Options are the input of a comparison.
type Options struct {
	// State is the state directory, below which the clone lies for a while. Repo is the user's checkout, Base the commit.
	State, Repo, Base string
	// Setup and Gates are the commands; Env are the variables of the user that the sandbox passes on.
	Setup    []string
	Services []spec.Service
	Gates    []spec.Gate
	Env      []string
	// Mirror is a repository that has the commit on a Ref where the checkout does not have it yet; empty for none.
	Mirror, Ref string
	// Environ is the user's environment.
	Environ []string
	// Confined are the outcomes in the sandbox. Setup counts as green there where it has none.
	Confined []Outcome
	// Doing is told what runs.
	Doing func(string)
}

// twin is one clone with its surroundings.
type twin struct {
	*Options
	dir, tree, id string
	environ       []string
}

// Compare clones the commit, runs setup and gates there, and compares them with the outcomes in the sandbox.
func Compare(ctx context.Context, o Options) (r *run.Twin, err error) {
	t, release, err := open(&o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, release()) }()
	if err := t.clone(ctx); err != nil {
		return nil, err
	}
	r = &run.Twin{}
	defer func() { skip(r, o.Gates) }()
	variables, added := t.variables()
	if len(o.Setup) > 0 {
		confined, own := outcomeOf(o.Confined, Setup), Outcome{}
		if confined == nil {
			confined = &Outcome{Gate: Setup}
		}
		if own, err = t.setup(ctx); err != nil {
			return nil, err
		}
		own.Variables, confined.Variables = variables, added
		if add(r, *confined, own); own.red() {
			return r, nil // the gates would fail because of it
		}
	}
	served, end, err := t.serve(ctx)
	if err != nil {
		return nil, err
	}
	defer end()
	if served != nil {
		add(r, Outcome{Gate: services}, *served)
		return r, nil
	}
	for _, g := range o.Gates {
		confined := outcomeOf(o.Confined, g.Name)
		if confined == nil {
			continue
		}
		t.Doing("gate " + g.Name + ": " + strings.Join(g.Command, " "))
		own, took, err := t.gate(ctx, g, t.environ)
		if err != nil {
			return nil, err
		}
		own.Variables, confined.Variables = variables, added
		others, err := t.others(ctx, confined.Ran)
		if err != nil {
			return nil, err
		}
		confined.Programs = append(confined.Programs, others...)
		confined.Findings = t.homeless(confined.Findings)
		if differ(confined, &own) != "" && Causes(*confined, own)[0].Cause == "" && took < maxProbed {
			t.Doing("gate " + g.Name + " again, with some of your variables as they are in the sandbox")
			if own.Alike, err = t.alike(ctx, g, confined, &own); err != nil {
				return nil, err
			}
		}
		add(r, *confined, own)
	}
	r.Left, err = t.status(ctx, "--ignored")
	return r, err
}

// homeless has findings of the sandbox name the user's home as those of the user's shell do: there it is a private directory.
func (t *twin) homeless(findings []string) (out []string) {
	home := strings.TrimRight(stage.Lookup(t.environ, "HOME"), "/")
	for _, f := range findings {
		if len(home) > 1 {
			f = strings.ReplaceAll(f, home, "TMP")
		}
		out = append(out, f)
	}
	slices.Sort(out)
	return out
}

func outcomeOf(list []Outcome, name string) *Outcome {
	if i := slices.IndexFunc(list, func(o Outcome) bool { return o.Gate == name }); i >= 0 {
		return &list[i]
	}
	return nil
}

// add adds what a gate, the setup or a service did on both sides.
func add(r *run.Twin, confined, own Outcome) {
	list := Causes(confined, own)
	for i := range list {
		d := &list[i]
		r.Differences = append(r.Differences, run.Difference{Gate: d.Gate, What: d.String(), Cause: string(d.Cause), Do: d.Do})
	}
	if len(list) == 0 {
		r.Equal = append(r.Equal, confined.Gate)
	}
}

// skip names the gates that nothing tells of.
func skip(r *run.Twin, gates []spec.Gate) {
	var left []string
	for _, g := range gates {
		differs := func(d run.Difference) bool { return d.Gate == g.Name }
		if r != nil && !slices.Contains(r.Equal, g.Name) && !slices.ContainsFunc(r.Differences, differs) {
			left = append(left, g.Name)
		}
	}
	if len(left) > 0 {
		r.Differences = append(r.Differences, run.Difference{
			What: "not compared, because setup or a service fails: " + text.Some(left, maxNamed),
		})
	}
}

// worker marks, with the id, the processes of a twin, and services those that run beside them.
const worker, services = "twin", "services"

// sweep ends what a twin has left running.
func sweep(id string) error {
	_, err := sandbox.Sweep(id, worker)
	_, of := sandbox.Sweep(id, services)
	return errors.Join(err, of)
}

// Clear removes the directories of twins whose process was killed, with what they left running, such as services.
func Clear(state string) error {
	anyAge := time.Now().Add(time.Hour) // also one whose lock is made by the question for it
	if err := sandbox.DropCaches(filepath.Join(state, "twins"), anyAge, func(dir string) error {
		return errors.Join(sweep(filepath.Base(dir)), workspace.Remove(dir))
	}); err != nil {
		return fmt.Errorf("remove what a killed comparison left: %w", err)
	}
	return nil
}

// open makes a directory.
func open(o *Options) (t *twin, release func() error, err error) {
	if err := Clear(o.State); err != nil {
		return nil, nil, err
	}
	t = &twin{Options: o, id: rand.Text()[:8]} // sockets below $TMPDIR need short paths
	t.dir = filepath.Join(o.State, "twins", t.id)
	t.tree = filepath.Join(t.dir, "tree")
	unlock, err := sandbox.LockCaches(t.dir)
	if err != nil {
		return nil, nil, err
	}
	release = func() error {
		defer unlock()
		return errors.Join(sweep(t.id), workspace.Remove(t.dir), os.Remove(t.dir+".lock"))
	}
	tools, temp := filepath.Join(t.dir, "tools"), filepath.Join(t.dir, "tmp")
	if err := errors.Join(os.MkdirAll(filepath.Join(tools, "bin"), 0o700), os.Mkdir(temp, 0o700)); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("make the directory of a clone: %w", err), release())
	}
	t.environ = slices.DeleteFunc(slices.Clone(o.Environ), func(kv string) bool {
		name, _, _ := strings.Cut(kv, "=")
		return slices.Contains(spec.RepositoryVars, name)
	})
	search := []string{filepath.Join(tools, "bin"), tools, stage.Lookup(o.Environ, "PATH")}
	t.environ = append(t.environ, "PATH="+strings.Join(search, string(filepath.ListSeparator)), sandbox.ToolsVar+"="+tools,
		"TMPDIR="+temp, sandbox.RunVar+"="+t.id, sandbox.WorkerVar+"="+worker)
	return t, release, nil
}

// git runs git as the user, without hooks.
func (t *twin) git(ctx context.Context, dir string, args ...string) (string, error) {
	whole := &tail{}
	c := sandbox.Command{
		Args: append([]string{"git", "-c", "core.hooksPath=" + os.DevNull}, args...), Dir: dir, Timeout: gate.DefaultTimeout,
		Env: append(slices.Clone(t.environ), "GIT_TERMINAL_PROMPT=0"), Sink: whole,
	}
	out, err := t.run(ctx, c)
	if err == nil && !out.Success() {
		said := text.OneLine(text.Tail(whole.String(), text.MaxLine))
		err = cmp.Or(context.Cause(ctx), t.lack(), fmt.Errorf("exit code %d: %s", out.ExitCode, said))
	}
	if err != nil {
		return "", fmt.Errorf("git %s: %w", args[0], err)
	}
	return whole.String(), nil
}

func (t *twin) clone(ctx context.Context) error {
	t.Doing("clones the commit")
	_, err := t.git(ctx, t.dir, "clone", "--quiet", "--template=", "--no-hardlinks", "--no-recurse-submodules", t.Repo, t.tree)
	if err == nil && t.Mirror != "" {
		_, err = t.git(ctx, t.tree, "fetch", "--quiet", "--no-tags", t.Mirror, t.Ref)
	}
	head := ""
	if err == nil {
		head, err = t.git(ctx, t.tree, "rev-parse", "HEAD")
	}
	if err == nil && strings.TrimSpace(head) != t.Base { // the branch has moved on, or the clone has another one
		_, err = t.git(ctx, t.tree, "checkout", "--quiet", "--detach", t.Base)
	}
	return err
}

// status lists what differs from the commit in the clone.
func (t *twin) status(ctx context.Context, args ...string) (paths []string, err error) {
	out, err := t.git(ctx, t.tree, append([]string{"status", "--porcelain", "-z", "--no-renames"}, args...)...)
	for entry := range strings.SplitSeq(out, "\x00") {
		if len(entry) > 3 {
			paths = append(paths, entry[3:])
		}
	}
	return paths, err
}

// restore takes back what a command changed of files that git does not ignore, and returns their paths.
func (t *twin) restore(ctx context.Context) (changed []string, err error) {
	if changed, err = t.status(ctx, "--untracked-files=all"); err != nil || len(changed) == 0 {
		return nil, err
	}
	if _, err = t.git(ctx, t.tree, "reset", "--quiet", "--hard"); err == nil {
		_, err = t.git(ctx, t.tree, "clean", "-ffdq")
	}
	return changed, err
}

// lack is what the machine lacks.
func (t *twin) lack() error { return machine.Room(t.dir) }

// setup runs the setup with the time that a gate has.
func (t *twin) setup(ctx context.Context) (o Outcome, err error) {
	t.Doing("setup: " + strings.Join(t.Setup, " "))
	whole := &tail{}
	out, err := t.run(ctx, sandbox.Command{Args: t.Setup, Dir: t.tree, Env: t.environ, Timeout: gate.DefaultTimeout, Sink: whole})
	o = Outcome{Gate: Setup}
	switch missing := new(sandbox.NotFoundError); {
	case errors.As(err, &missing):
		o.Exit, o.Output = 127, missing.Error()
	case err != nil:
		return o, fmt.Errorf("run setup: %w", err)
	case out.Cancelled:
		return o, context.Cause(ctx)
	default:
		o.Exit, o.TimedOut, o.Output = out.ExitCode, out.TimedOut, whole.String()
	}
	if o.red() {
		return o, t.lack()
	}
	info := filepath.Join(t.tree, ".git", "info")
	made, err := t.status(ctx) // what it made stays, as for the user, also where git does not ignore it
	if err = errors.Join(err, os.MkdirAll(info, 0o700)); err == nil && len(made) > 0 {
		err = os.WriteFile(filepath.Join(info, "exclude"), []byte("/"+strings.Join(made, "\n/")+"\n"), 0o600)
	}
	_, restored := t.restore(ctx)
	return o, errors.Join(err, restored)
}

// gate runs a gate with an environment, and reads its output as that of the sandbox is read.
func (t *twin) gate(ctx context.Context, g spec.Gate, environ []string) (o Outcome, took time.Duration, err error) {
	whole := &tail{}
	r, err := gate.Run(ctx, g, gate.Where{Dir: t.tree, Env: environ, Sink: whole, Start: t.run})
	if missing := new(sandbox.NotFoundError); errors.As(err, &missing) {
		r, err = spec.Receipt{Gate: g.Name, ExitCode: 127, Tail: missing.Error()}, nil
	}
	if err == nil && r.Verdict != spec.VerdictPass {
		err = t.lack()
	}
	if err != nil {
		return o, 0, err
	}
	o = Of(&r, whole.String())
	o.Wrote, err = t.restore(ctx)
	return o, r.Duration, err
}
