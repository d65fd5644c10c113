package tester

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"divisi/contextscope/artifact"
	"divisi/internal/egress"
	"divisi/internal/lazyregexp"
	"divisi/internal/sandbox"
	"divisi/internal/sandbox/stage"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/environment"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
	"divisi/subagents/wire"
)

// Places are the directories of a setup beside its tree.
type Places interface {
	// Fill lets the commands that are prepared from now on write the directories of an environment that is being made.
	Fill(m *environment.Making)
	// Lay puts a complete environment below the tree, which it makes clean again.
	Lay(ctx context.Context, e *environment.Environment) error
	// Clean puts the tree back as it was before the setup.
	Clean(ctx context.Context) error
	// Ignored returns the topmost paths in the tree that git ignores, and those of other files that setup has changed or left,
	// which are gone.
	Ignored(ctx context.Context) (ignored, gone []string, err error)
}

// Pauses are how long a setup waits for a service that is away before it runs again: two minutes in all.
var Pauses = []time.Duration{30 * time.Second, time.Minute, 30 * time.Second}

// Setup is trySetup, and again after pauses where the setup fails and a service that it asked may be away.
func (t *Executor) Setup(ctx context.Context) (e *environment.Environment, bad *spec.Result, err error) {
	for n, pause := range append(slices.Clone(t.Pauses), 0) {
		e, bad, err = t.trySetup(ctx)
		if bad == nil || err != nil || n >= t.pauses() {
			break
		}
		why := fmt.Sprintf("%s; a service that it needs may be away: it runs again after "+
			"%s", text.OneLine(bad.Error.Message), pause)
		t.noted = append(t.noted, why)
		t.doing(why)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return nil, bad, context.Cause(ctx)
		}
		if err = t.Places.Clean(ctx); err != nil {
			return nil, bad, err
		}
	}
	return e, bad, err
}

// pauses is how often a setup that failed waits: not at all where it asked the network for nothing, as long as it may where a
// service did not answer, and once where all did, because an answer may be that of a service out of order.
func (t *Executor) pauses() int {
	switch {
	case t.used.Away:
		return len(t.Pauses)
	case t.used.Asked:
		return min(1, len(t.Pauses))
	}
	return 0
}

// trySetup makes the environment of a commit with the setup command, or takes the one that a setup before has made of the same.
// The result is not nil when that failed; without a setup there is no environment.
func (t *Executor) trySetup(ctx context.Context) (e *environment.Environment, bad *spec.Result, err error) {
	t.used = egress.Use{}
	if len(t.Assignment.Setup) == 0 {
		return nil, nil, nil
	}
	g, leftOut, err := t.setupGround()
	if err != nil {
		return nil, nil, err
	}
	recipe, tree, err := t.recipe(ctx, g)
	if err != nil {
		return nil, nil, err
	}
	waiting := func() { t.doing("waits for another run, which sets up the same") }
	made := false
	if e, err = t.Environments.Same(recipe, tree); errors.Is(err, environment.ErrNone) {
		e, made, err = t.Environments.Make(ctx, recipe, waiting, func(ctx context.Context, m *environment.Making) error {
			t.Places.Fill(m)
			if g, leftOut, err = t.setupGround(); err != nil {
				return err
			}
			return t.runSetup(ctx, g, leftOut, m, tree)
		})
	}
	var failed *setupFailedError
	var content *environment.BadContentError
	switch {
	case errors.As(err, &failed):
		return nil, &failed.result, nil
	case errors.As(err, &content):
		r := wire.Failed(wire.FaultSetup, "setup: "+content.Error(), "")
		return nil, &r, nil
	case err != nil:
		return nil, nil, err
	case made:
		t.noted = append(t.noted, e.Notes...)
	default:
		t.noted = append(t.noted, "setup did not run: its inputs are the same as when environment "+e.ID+" was made, "+
			e.Made.Format(time.DateTime))
	}
	if len(e.Lacks) > 0 {
		t.noted = append(t.noted, "setup could not install "+some(e.Lacks))
	}
	if err := t.Places.Lay(ctx, e); err != nil {
		return nil, nil, err
	}
	t.Under = e
	return e, nil, t.tryRemaking(ctx, e)
}

// setupFailedError carries the result of a setup that failed out of the making of an environment.
type setupFailedError struct{ result spec.Result }

func (e *setupFailedError) Error() string { return e.result.Error.Message }

// setupGround prepares the setup, which sees the user's settings for downloads; leftOut are those that it does not see.
func (t *Executor) setupGround() (g Ground, leftOut []string, err error) {
	if g, err = t.Fresh(sandbox.Setup); err != nil {
		return g, nil, err
	}
	env, readable, leftOut := sandbox.Downloads(t.Environ)
	g.Env, g.Readable = append(env, g.Env...), append(readable, g.Readable...)
	return g, leftOut, nil
}

// recipe is everything that the setup depends on. Directories that are made for each attempt, and the run's own names, are left
// out.
func (t *Executor) recipe(ctx context.Context, g Ground) (environment.Recipe, *environment.Tree, error) {
	r := environment.Recipe{
		Command: t.Assignment.Setup, Loopback: t.Assignment.Project.Loopback, System: runtime.GOOS, Arch: runtime.GOARCH,
		Level: sandbox.Probe().Name(),
	}
	tree := &environment.Tree{ID: t.Tree, Read: func(name string) ([]byte, error) { return t.Read(ctx, name) }}
	var err error
	if tree.Blobs, err = t.Blobs(ctx); err == nil {
		tree.Outline, err = t.Outline(ctx)
	}
	if err == nil {
		r.Files, err = environment.FilesOf(t.setup(), tree)
	}
	if err != nil {
		return r, nil, fmt.Errorf("read the files that setup depends on: %w", err)
	}
	if r.Programs, err = t.Environments.Programs(stage.Lookup(g.Env, "PATH"), r.Command); err != nil {
		return r, nil, err
	}
	r.Env = t.settings(g)
	return r, tree, nil
}

// setup is that of the assignment, which has it in its project too, but for the command where it is not to run.
func (t *Executor) setup() *spec.Setup {
	return &spec.Setup{Command: t.Assignment.Setup, Key: t.Assignment.Project.Setup.Key}
}

// settings is the digest of the setup's variables, without what is a machine's own: where things lie, and the search path, whose
// programs have digests of their own.
func (t *Executor) settings(g Ground) string {
	seen, env := g.Place.Seen(), []string{}
	var own []string
	for _, at := range [][2]string{
		{seen.Tree, "TREE"},
		{seen.Home, "HOME"},
		{seen.Temp, "TEMP"},
		{seen.Downloads.Modules, "MODULES"},
		{g.Place.Downloads.Lent, "MODULES"},
		{seen.Downloads.Dir, "DOWNLOADS"},
		{stage.Lookup(t.Environ, "HOME"), "USER"},
	} {
		if filepath.Clean(at[0]) != string(filepath.Separator) && at[0] != "" {
			own = append(own, at[0], at[1])
		}
	}
	replace := strings.NewReplacer(own...)
	for _, v := range g.Env {
		switch name, _, _ := strings.Cut(v, "="); name {
		case sandbox.RunVar, sandbox.WorkerVar, sandbox.TaskVar, "PATH", "GOCACHE", "GOCACHEPROG", "XDG_CACHE_HOME":
		default:
			env = append(env, replace.Replace(v))
		}
	}
	if t.Beside != "" {
		env = append(env, "CHECKOUT="+t.Beside)
	}
	return artifact.Digest([]byte(spec.JSONText(env)))
}

// runSetup runs the setup command and takes what it left. It has the network, whatever the role says, because it is there to
// install what the gates need. The error is a *setupFailedError when it failed.
func (t *Executor) runSetup(
	ctx context.Context, g Ground, leftOut []string, m *environment.Making, tree *environment.Tree,
) error {
	args := t.Assignment.Setup
	heard, stop := t.listen("setup: " + strings.Join(args, " "))
	defer stop()
	whole := &transcript{}
	touched := grade.Touched(t.Dir, append(slices.Sorted(maps.Keys(tree.Blobs)), gitFiles...))
	out, err := sandbox.Run(ctx, sandbox.Command{
		Args: args, Dir: t.Dir, Env: g.Env, Place: g.Place, Writable: g.Writable, Readable: g.Readable, Network: true,
		Loopback: t.Assignment.Project.Loopback,
		Timeout:  t.Bounds.Left(), Sink: whole, OnOutput: heard,
	})
	names, lack := touched()
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	if err == nil {
		t.used = out.Network
	}
	if missing(err) {
		if lack := t.Room.Lack(); lack != nil {
			return lack
		}
		return &setupFailedError{wire.Failed(wire.FaultSetup, "setup: "+err.Error(), "")}
	}
	if err != nil {
		return fmt.Errorf("run setup: %w", err)
	}
	if !out.Success() {
		if err := t.Room.Lack(append([]string{g.Place.Temp, g.Place.Tools, t.Dir}, g.Writable...)...); err != nil {
			return fmt.Errorf("run setup: %w", err)
		}
		why := "setup: " + gate.HowEnded(args, out) + unlikeYours(out, leftOut)
		bad := &setupFailedError{wire.Failed(wire.FaultSetup, why, text.Tail(out.Text(), gate.MaxTail))}
		bad.result.Error.Output, err = t.keep(ctx, whole, true)
		return errors.Join(err, bad)
	}
	if lacks := t.lacking(whole); len(lacks) > 0 {
		m.Lacks(lacks, t.used.Asked, t.used.Away)
	}
	var read []string
	if lack == "" {
		read = append([]string{}, names...)
	}
	return t.takeSetup(ctx, g, m, tree, read)
}

// notInstalled is what a setup prints of an optional part that it could not install.
var notInstalled = lazyregexp.New(`(?m)^not installed: (\S.*?)\s*$`)

// lacking lists the optional parts that a setup has not installed, without those that the environment lacks anyway.
func (t *Executor) lacking(whole *transcript) (parts []string) {
	for _, found := range notInstalled.FindAllStringSubmatch(string(whole.kept), -1) {
		if t.Under == nil || !slices.Contains(t.Under.Lacks, found[1]) {
			parts = append(parts, found[1])
		}
	}
	return parts
}

// gitFiles are opened by a git that reads files of the commit from elsewhere than the tree.
var gitFiles = []string{".git/index", ".git/objects/info/alternates"}

// takeSetup moves what setup left into the environment. read are the files that it read; nil where that is not known.
func (t *Executor) takeSetup(
	ctx context.Context, g Ground, m *environment.Making, tree *environment.Tree, read []string,
) error {
	t.doing("keeps the results of setup")
	ignored, gone, err := t.Places.Ignored(ctx)
	if err != nil {
		return err
	}
	if len(gone) > 0 {
		m.Note(fmt.Sprintf("setup changed or left %d files that git does not ignore, which were put back: %s",
			len(gone), text.Tail(strings.Join(gone, ", "), maxChanged)))
	}
	changed := func(name string) bool { _, tracked := tree.Blobs[name]; return tracked }
	built := environment.Builds(t.setup(), ignored)
	if built {
		ignored = nil // what is kept of another commit's sources could hide what these lack
	}
	if read != nil && !slices.ContainsFunc(gone, changed) && !slices.ContainsFunc(gitFiles, func(name string) bool {
		return slices.Contains(read, name)
	}) {
		m.DidRead(environment.ReadBy(tree, read, built))
	}
	if locks := environment.Unlocked(t.setup(), tree); len(locks) > 0 {
		m.Unlocked()
		m.Note("the commit has no lock file (" + strings.Join(locks, ", ") + "): setup has taken the versions that it found, " +
			"which stay until what it reads changes, or the environment is removed")
	}
	downloads, err := t.Caches.Downloaded()
	if err != nil {
		return err
	}
	m.Downloaded(downloads)
	m.MayLink(stage.Lookup(g.Env, "PATH"))
	return m.Take(t.Dir, ignored)
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
