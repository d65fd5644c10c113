package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/sandbox"
)

func checkGit(ctx context.Context) []Finding {
	g, err := git.New(ctx)
	if err != nil {
		return []Finding{bad("git", "install git 2.38 or newer, and put it on your PATH", "%v", err)}
	}
	return []Finding{fine("git", "git %s at %s", g.Version(), g.Path())}
}

func checkSandbox(context.Context) []Finding {
	level := sandbox.Probe()
	strict := level.Strict()
	if strict == nil {
		return []Finding{fine("sandbox", "%s", level), checkViews()}
	}
	var untried *sandbox.UntriedError
	if errors.As(strict, &untried) {
		return []Finding{bad("sandbox", "no command can run until then: make $TMPDIR a directory that you can write, "+
			"and raise your limit of processes (ulimit -u)", "%v", untried)}
	}
	found := []Finding{
		checkViews(), warn("sandbox", "--sandbox=strict refuses to run; docs/safety.md lists what is not confined", "%s", level),
	}
	for _, layer := range level.Protections() {
		if !layer.Have {
			found = append(found, warn("sandbox", layer.Advice, "%s is missing: %s", layer.Name, layer.Why))
		}
	}
	return found
}

// checkViews reports how an environment comes below the trees, and a build cache below gates.
func checkViews() Finding {
	if err := sandbox.Views(); err != nil {
		return warn("environments", "the files that setup leaves are copied into each tree, and the build cache of the gates "+
			"for each "+
			"try of a batch, which takes time and disk by their size: use Linux 5.12 or newer with overlayfs and user "+
			"namespaces, "+
			"or a file system that shares blocks (btrfs, xfs)",
			"no layers: %v", err)
	}
	return fine("environments", "the files that setup leaves, and the build cache of the gates, are layers without a copy")
}

// probeTime bounds how long a check waits.
const probeTime = 20 * time.Second

// checkBus puts a task on a server and removes it: on the built-in one in a temporary directory, or on the one of o.NATS.
func (o Options) checkBus(ctx context.Context) []Finding {
	what, do := "the built-in message server", "check the disk; --state-dir moves the state to another one"
	opts := bus.Options{URL: o.NATS, Log: o.Store.Log}
	if o.NATS == "" {
		dir, err := os.MkdirTemp("", "divisi-doctor-")
		if err != nil {
			return []Finding{bad("bus", "make $TMPDIR a directory that you can write", "no temporary directory: %v", err)}
		}
		defer os.RemoveAll(dir) // an empty store
		opts.Dir = dir
	} else {
		what, do = "the NATS server", "check the address and the credentials, and that its JetStream is on"
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	begun := time.Now()
	if err := roundTrip(ctx, opts); err != nil {
		return []Finding{bad("bus", do, "%s does not work: %v", what, err)}
	}
	return []Finding{fine("bus", "%s accepted a task and listed it (%s)", what, time.Since(begun).Round(time.Millisecond))}
}

func roundTrip(ctx context.Context, o bus.Options) (err error) {
	b, err := bus.Open(ctx, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, b.Close(context.WithoutCancel(ctx))) }()
	run := fmt.Sprintf("doctor-%x", time.Now().UnixNano())
	filter := bus.TaskFilter(run)
	if err := b.Enqueue(ctx, bus.TaskSubject("doctor", run, "probe"), run, []byte("ping")); err != nil {
		return err
	}
	waiting, err := b.Queued(ctx, filter)
	if err == nil && len(waiting) != 1 {
		err = fmt.Errorf("it accepted 1 task, and lists %d", len(waiting))
	}
	return errors.Join(err, b.Purge(ctx, filter))
}

// checkPrograms looks up the programs that Divisi uses where they are installed.
func checkPrograms(ctx context.Context) []Finding {
	rg := fine("ripgrep", "rg is not on your PATH; the built-in search finds the same, more slowly")
	if path, err := exec.LookPath("rg"); err == nil {
		rg = fine("ripgrep", "at %s", path)
	}
	const do = "install Universal Ctags, built with JSON"
	path, err := exec.LookPath("ctags")
	if err != nil {
		return []Finding{rg, warn("ctags", do, "ctags is not on your PATH: the tool outline supports only Go")}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "--list-features").CombinedOutput()
	if err == nil && strings.Contains(string(out), "json") {
		return []Finding{rg, fine("ctags", "at %s, with JSON", path)}
	}
	return []Finding{rg, warn("ctags", do, "%s is not Universal Ctags with JSON: the tool outline supports only Go", path)}
}
