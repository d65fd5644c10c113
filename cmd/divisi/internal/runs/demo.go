package runs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/sample"
)

// NewDemo makes divisi demo.
func NewDemo(g *Globals) *cobra.Command {
	o := Flags{trust: true} // the sample is Divisi's own
	c := &cobra.Command{
		Use:   "demo",
		Short: "Run a sample refactor: no key, no setup",
		Long: `Make a sample Go repository of 12 packages in a temporary directory and move it off a deprecated helper
package with a built-in plan: shards in parallel, a codemod that is wrong once on purpose and is
caught by its tester, a landing queue, one branch. No key, no network. Go and git are needed. The
first demo fills a build cache of Divisi's own, and reports on standard error what it compiles. The
sample and the run stay; the last line has the command that removes them.` +
			cli.CodesOfRuns(),
		Example: "  divisi demo\n  divisi demo --dashboard 127.0.0.1:8080",
		RunE:    func(c *cobra.Command, _ []string) error { return g.demo(c.Context(), o) },
	}
	f := c.Flags()
	f.StringVar(&o.Repo, "dir", "", "make the sample repository here instead of in a temporary directory")
	f.IntVar(&o.Parallel, "parallel", 0, "agents at once (default 16)")
	f.StringVar(&o.dashboard, "dashboard", "", "serve the dashboard at this loopback address")
	f.StringVar(&o.NATS, "nats", "", "use the NATS server at this URL instead of the built-in one")
	hostFlags(c, &o.Machine, &o.sandbox)
	GroupFlags(c)
	g.NoticeFlags(c)
	return c
}

func (g *Globals) demo(ctx context.Context, o Flags) error {
	dir, err := freeDir(o.Repo)
	if err != nil {
		return err
	}
	defer g.fillNotes()()
	sample, err := sample.NewSample(ctx, g.StateDir, dir)
	if err != nil {
		return err
	}
	o.Sample, o.Repo, o.plan = true, sample.Repo, sample.Plan
	err = g.Print(cli.Say("sample repository: %s\nplan: %s\n"+
		"on purpose: one test fails from the start, and the codemod is wrong once\n", o.Repo, o.plan))
	var v *view
	if err == nil {
		v, err = g.prepare(ctx, &o)
	}
	var r *orchestrator.Run
	if err == nil {
		v.made = sample.Made
		err = v.serve(ctx, o.dashboard)
	}
	if err == nil {
		defer v.close()
		r, err = orchestrator.Start(g.Log.WithContext(ctx), o.Options)
	}
	if err != nil {
		return errors.Join(err, sample.Remove()) // a demo that could not begin leaves nothing behind
	}
	return v.follow(ctx, r)
}

// printMade reports how to remove what a demo made, and its run; nothing for another run. Git makes files that rm -r asks about.
func (v *view) printMade(run string) error {
	if len(v.made) == 0 {
		return nil
	}
	var paths []string
	for _, path := range v.made {
		paths = append(paths, text.Shell(path))
	}
	remove := v.Calls("rm -rf " + strings.Join(paths, " ") + " && divisi runs rm " + run)
	return v.Print(cli.Say("\nRemove the demo, when you need it no more: %s\n", remove))
}

// freeDir returns the absolute path of a directory that is new or empty; "" stays.
func freeDir(dir string) (string, error) {
	if dir == "" {
		return "", nil
	}
	abs, err := filepath.Abs(dir)
	if err != nil {
		return "", usage.Errorf("--dir %s: %v", dir, err)
	}
	entries, err := os.ReadDir(abs)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return abs, nil
	case err != nil:
		return "", usage.Errorf("--dir: %v", err)
	case len(entries) > 0:
		return "", usage.Errorf("--dir %s is not empty", abs)
	}
	return abs, nil
}

const (
	// fillEvery is how often a first demo reports what it has compiled.
	fillEvery = 5 * time.Second
	// filled is fewer entries than a whole demo leaves: about 1,500.
	filled = 1000
)

// filling reports what a first demo waits for: the go command says nothing while it compiles the sample and its tests.
type filling struct {
	say  func(string)
	size func() int
	last int
}

// begin reports whether the cache is empty, and then says so.
func (f *filling) begin() bool {
	if f.last = f.size(); f.last >= filled {
		return false
	}
	f.say("first demo: Divisi's own build cache is empty. The sample and its tests are compiled before anything can land:\n" +
		"  about a minute on a quiet machine of two cores, longer on a busy one; later demos take seconds")
	return true
}

// tell reports what was compiled since the last time; nothing where that is nothing.
func (f *filling) tell() {
	n := f.size()
	if n > f.last {
		f.say("first demo: compiling; " + text.Count(n, "file") + " in the build cache so far")
	}
	f.last = max(f.last, n)
}

// fillNotes has a first demo tell what it waits for, until the end.
func (g *Globals) fillNotes() (end func()) {
	f := &filling{say: g.Notice, size: func() int { return sample.Cache(g.StateDir) }}
	if !f.begin() {
		return func() {}
	}
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		ticks := time.NewTicker(fillEvery)
		defer ticks.Stop()
		for {
			select {
			case <-ticks.C:
				f.tell()
			case <-done:
				return
			}
		}
	}()
	return func() { close(done); <-ended }
}
