package runs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/cli"
	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/text"
	"divisi/internal/usage"
	"divisi/orchestrator"
	"divisi/orchestrator/console/display"
)

// projectPlace is where init writes.
const projectPlace = ".divisi/divisi.yaml"

// initOptions are the flags of init.
type initOptions struct {
	Flags
	yes, print, write bool
	// first reports that a run follows, and no hints on what can.
	first bool
}

// NewInit makes divisi init.
func NewInit(g *Globals) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Detect setup and gates, try them once, and keep them for later runs",
		Long: `Propose setup and gates from lock files, manifests and test scripts, run them once on the checked out
commit, and name what is missing, red or hidden there. Then keep them in the state directory, after you
agree: for this repository and its other clones, known by the address of their remote origin. With
--write they go to .divisi/divisi.yaml instead, the one file that it writes to your checkout; an
existing file is never changed. Setup has the network: before it runs you are asked whether you trust
the repository.` +
			cli.CodesOfRuns(),
		Example: "  divisi init\n  divisi init --print\n  divisi init --write\n  divisi init --repo ../clone --trust-repo --yes",
		RunE:    func(c *cobra.Command, _ []string) error { return g.init(c.Context(), &o) },
	}
	f := c.Flags()
	f.StringVar(&o.Repo, "repo", ".", "the repository")
	f.BoolVar(&o.yes, "yes", false, "keep or write them without prompting; it does not trust the repository")
	f.BoolVar(&o.write, "write", false, "write .divisi/divisi.yaml, to commit it, instead of keeping them elsewhere")
	ProjectFlag(f, &o.project)
	f.BoolVar(&o.trust, "trust-repo", false, "allow the proposed setup, this time; see divisi trust --help")
	f.BoolVar(&o.print, "print", false, "print the proposal; run and write nothing")
	f.StringVar(&o.sandbox, "sandbox", cli.SandboxAuto,
		"auto: use every layer of confinement that this machine has; strict: refuse to start unless it has all")
	return c
}

func (g *Globals) init(ctx context.Context, o *initOptions) error {
	if err := cli.CheckDir(o.Repo); err != nil {
		return err
	}
	var d doctor.Options
	var err error
	if d.Project, err = NamedProject(o.project); err != nil {
		return err
	}
	d.Store.Path, d.Store.Log = g.StateDir, g.Log
	if !o.print {
		fmt.Fprintln(g.Out, "Reading the files of the checked out commit…")
	}
	p, err := d.Propose(ctx, o.Repo)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(p.Top, projectPlace)); err == nil && !o.print {
		return usage.Errorf("%s exists already, and init never changes it\nSee the proposal: %s --print; see the file: divisi "+
			"config%s", projectPlace, o.again(g), o.inRepo())
	}
	if o.print {
		_, err = fmt.Fprint(g.Out, p.File(nil))
		return err
	}
	if err = g.chooseServices(ctx, o, p); err == nil && o.project == "" {
		err = g.chooseCI(ctx, o, p)
	}
	if err != nil {
		return err
	}
	if len(p.Gates) == 0 {
		g.printLines(p.Notes()...)
		return usage.Errorf("no gate was detected in %s: write a command that fails when the code is broken to %s\n  gates:\n"+
			"    - {name: build, command: [make, build]}\nSee docs/project.md", display.Sanitize(p.Top), projectPlace)
	}
	fmt.Fprintf(g.Out, "Found %s: %s\n", text.Count(len(p.Gates), "gate"), display.Sanitize(text.Some(p.Gates, maxFound)))
	if o.unasked(g) {
		fmt.Fprintln(g.Out, "Setup and gates are tried, and nothing is kept without --yes")
	}
	tried, err := g.try(ctx, o, p)
	if tried == nil {
		return err
	}
	g.printLines(tried.Lines...)
	switch {
	case err != nil && (o.first || !p.Proves(tried)):
		return cli.End(cli.CodeStopped, "the trial of the gates was stopped, and nothing was kept\nTry them again: "+o.again(g))
	case err != nil:
		g.printLines("The trial was stopped: gates that were not tried to their end are left out. To try all again:",
			"  "+o.again(g))
	case p.Proves(tried):
	default:
		why := "no gate proves anything on this commit, and nothing was kept\n" +
			"Fix the problems above, or start from the proposal: " + o.again(g) + " --print"
		if o.first {
			why += "\nOr repeat the line with --allow-unverified: the change lands without proof"
		}
		return cli.End(cli.CodeParked, why)
	}
	ctx = context.WithoutCancel(ctx) // what was tried before a signal can be kept
	if len(tried.Derived) > 0 && !o.yes && g.Interactive() {
		fmt.Fprintf(g.Out, "Setup makes %s of tracked files, and not again without network: each patch would be asked about\n",
			display.Sanitize(text.Some(tried.Derived, maxShown)))
		err := g.Confirm(ctx, g.Out, "Does no gate read that? Yes writes derived: []", "")
		if no := new(cli.EndError); err != nil && !errors.As(err, &no) {
			return err
		}
		tried.Unread = err == nil
	}
	return cmp.Or(g.settleProject(ctx, o, p, p.File(tried)), err)
}

// InitFirst finds, tries and keeps setup and gates before a first run, as init does.
func (g *Globals) InitFirst(ctx context.Context, o *Flags) error {
	first := initOptions{yes: true, first: true}
	first.Repo, first.project, first.sandbox, first.trust = o.Repo, o.project, o.sandbox, o.trust
	return g.init(ctx, &first)
}

// again is the beginning of another init of the same repository.
func (o *initOptions) again(g *Globals) string {
	again := g.Command() + " init" + o.inRepo()
	if o.write {
		again += " --write"
	}
	if o.project != "" {
		again += " --project " + text.Shell(o.project)
	}
	return again
}

// place is where the settings go, in words.
func (o *initOptions) place() string {
	if o.write {
		return "to " + projectPlace
	}
	return "for later runs, outside the repository"
}

// unasked reports whether no one can be asked for a yes that was not given.
func (o *initOptions) unasked(g *Globals) bool { return !o.yes && !g.Interactive() }

// try runs setup and gates once, as a run would for its baseline. One that was stopped has an error, and what was tried before.
func (g *Globals) try(ctx context.Context, o *initOptions, p *doctor.Proposal) (*doctor.Trial, error) {
	o.Base, o.Trial, o.Proposed = p.Head, true, o.project == ""
	v, err := g.prepare(ctx, &o.Flags)
	if err != nil {
		return nil, err
	}
	if o.Proposed {
		o.Project = &orchestrator.File{Name: projectPlace, Data: []byte(p.File(nil))}
	}
	o.Approve, o.Decide, v.quiet = nil, nil, true
	o.Trust = func(ctx context.Context, requests []string) (bool, error) {
		if o.trust {
			return true, nil
		}
		t, err := g.Trusting(ctx, p.Top, requests)
		if err != nil {
			return false, err
		}
		t.title = "Divisi proposes permissions beyond the sandbox for "
		if t.Trusted || g.Interactive() {
			return true, t.settle(ctx, g)
		}
		return false, usage.Errorf("%sThe setup is a proposal, and nothing was run. "+
			"Read the list, then allow it, and the file: %s --trust-repo --yes\nTo see the whole proposal: %[2]s --print",
			t.Text(), o.again(g))
	}
	r, err := orchestrator.Start(g.Log.WithContext(ctx), o.Options)
	if err != nil {
		return nil, err
	}
	if !v.console().Live() {
		defer g.tellTrial(ctx, r)()
	}
	if err = v.follow(ctx, r); cli.IsCode(err, usage.Preflight) { // the run has told why
		if p.Unserve() {
			fmt.Fprintln(g.Out, "See above why the gates could not be tried with the services: they are tried without them")
			return g.try(ctx, o, p)
		}
		if less := p.Lessen(nil); less != "" {
			fmt.Fprintln(g.Out, "See above why setup failed: now is tried "+less)
			return g.try(ctx, o, p)
		}
		dir := filepath.Join(p.Top, filepath.Dir(projectPlace))
		return nil, cli.End(cli.CodeMachine, fmt.Sprintf("nothing was kept: see above why %s is not ready for a run\n"+
			"Write a setup that works to %s, beginning with:\n  mkdir -p %s && %s --print > %s", p.Top, projectPlace,
			text.Shell(dir), o.again(g), text.Shell(filepath.Join(p.Top, projectPlace))))
	} else if err != nil && (cli.ExitCode(err) != cli.CodeStopped || !o.Proposed) {
		return nil, err
	}
	var d doctor.Options
	d.Store.Path, d.Store.Log = g.StateDir, g.Log
	tried, unread := d.Tried(context.WithoutCancel(ctx), r.ID())
	if err = cmp.Or(err, unread); err == nil && !p.Proves(tried) {
		if less := p.Lessen(tried); less != "" {
			fmt.Fprintln(g.Out, display.Sanitize("See above why no gate proves anything: now is tried "+less))
			return g.try(ctx, o, p)
		}
	}
	return tried, err
}

const (
	// maxShown is how many packages or files a line names, maxFound how many gates.
	maxShown = 5
	maxFound = 20
)

// printLines prints foreign lines, which keep their indentation, in the width of a terminal.
func (g *Globals) printLines(lines ...string) {
	for _, line := range lines {
		body := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(body)]
		for _, row := range display.Wrap(display.Sanitize(body), cli.Width(g.Out)-len(indent)) {
			fmt.Fprintln(g.Out, indent+row)
		}
	}
}

// store keeps or writes a project file, and returns where.
func (o *initOptions) store(p *doctor.Proposal, file string) (string, error) {
	if o.write {
		return projectPlace, cli.WriteNew(p.Top, projectPlace, file)
	}
	return p.Keep(file)
}

// settleProject keeps or writes the project file after a yes, and tells the ways on.
func (g *Globals) settleProject(ctx context.Context, o *initOptions, p *doctor.Proposal, file string) error {
	if !o.first { // else a preview follows, with the gates
		fmt.Fprintln(g.Out, "\n"+display.SanitizeLines(strings.TrimRight(file, "\n")))
	}
	what := "Keep this "
	if o.write {
		what = "Write this "
	}
	if !o.yes {
		if o.unasked(g) {
			_, err := fmt.Fprintf(g.Out, "\nNothing was kept. To %s%s: %s --trust-repo --yes\n",
				strings.ToLower(what), o.place(), o.again(g))
			return err
		}
		if err := g.Confirm(ctx, g.Out, "\n"+what+o.place()+"?", "nothing was kept"); err != nil {
			return err
		}
	}
	repo, next := text.Shell(p.Top), ""
	at, err := o.store(p, file)
	switch {
	case errors.Is(err, fs.ErrExist):
		return usage.Errorf("%s already exists, and was not changed", projectPlace)
	case err != nil:
		return err
	case o.write:
		next = "  git -C " + repo + " add " + at + " && git -C " + repo + " commit -m 'Describe the repository to Divisi'\n"
	}
	t, err := g.Trusting(ctx, p.Top, nil)
	if err != nil {
		return err
	}
	if !t.Trusted {
		next += "  " + g.Command() + " trust --repo " + repo + "   # agree once to what the file requests, such as its setup\n"
	}
	if o.first {
		return nil
	}
	if _, err := fmt.Fprintf(g.Out, "\nwrote %s\nNext:\n%s", at, next); err != nil {
		return err
	}
	rows := [][]string{
		{"run \"GOAL\"" + o.inRepo(), "# with a key of a model: it plans, you approve"},
		{"run --plan FILE" + o.inRepo(), "# with a plan of your own, without a key: docs/getting-started.md"},
		{"new codemod NAME" + o.inRepo(), "# begins such a plan, with a program that changes the files"},
		{"doctor --twin" + o.inRepo(), "# runs the gates in your own shell too, and tells what differs there"},
	}
	for _, line := range display.Columns(rows, 3) {
		if _, err := fmt.Fprintln(g.Out, "  "+g.Command()+" "+line); err != nil {
			return err
		}
	}
	return nil
}

// propose asks about a setup that no file of the repository names.
func (g *Globals) propose(ctx context.Context, o *Flags, setup, why, requests []string) (bool, error) {
	if o.trust && !o.dryRun {
		return true, nil
	}
	t, err := g.Trusting(ctx, o.Repo, requests)
	if err != nil {
		return false, err
	}
	t.title = "Divisi proposes permissions beyond the sandbox for "
	if t.Trusted || o.dryRun || !g.Interactive() {
		return t.Trusted, nil
	}
	fmt.Fprintf(g.Out, "The gates cannot run without a setup (%s), and no file names one. Proposed, with the network: %s\n",
		display.Sanitize(text.Some(why, maxShown)), display.Sanitize(text.Flow(setup)))
	err = t.ask(ctx, g)
	if stop := new(cli.EndError); errors.As(err, &stop) {
		return false, nil // the gates will report what is missing
	}
	return err == nil, err
}
