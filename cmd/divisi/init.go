package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"divisi/cmd/divisi/internal/doctor"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/console"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/gate/detect"
	"divisi/subagents/gate/lack"
)

// projectPlace is where init writes.
const projectPlace = ".divisi/divisi.yaml"

// initOptions are the flags of init.
type initOptions struct {
	runOptions
	yes, print bool
}

func newInit(g *globals) *cobra.Command {
	var o initOptions
	c := &cobra.Command{
		Use:   "init",
		Short: "Find out what a repository needs, try it once, and write .divisi/divisi.yaml",
		Long: `Propose setup and gates from lock files, manifests and test scripts, run them once on the checked out
commit, and name what is missing, red or hidden there. Then write .divisi/divisi.yaml, the one file
that it writes to your checkout, after you agree; an existing file is never changed. Setup has the
network: before it runs you are asked whether you trust the repository.` +
			codes(codeOK, codeParked, codeUsage, codeStopped, codeMachine),
		Example: "  divisi init\n  divisi init --print\n  divisi init --repo ../clone --trust-repo --yes",
		Args:    cobra.NoArgs,
		RunE:    func(c *cobra.Command, _ []string) error { return g.init(c.Context(), &o) },
	}
	f := c.Flags()
	f.StringVar(&o.Repo, "repo", ".", "the repository")
	f.BoolVar(&o.yes, "yes", false, "write the file without prompting; it does not trust the repository")
	f.BoolVar(&o.trust, "trust-repo", false, "allow the proposed setup, this time; see divisi trust --help")
	f.BoolVar(&o.print, "print", false, "print the proposal; run and write nothing")
	f.StringVar(&o.sandbox, "sandbox", sandboxAuto,
		"auto: use every layer of confinement that this machine has; strict: refuse to start unless it has all")
	return c
}

func (g *globals) init(ctx context.Context, o *initOptions) error {
	checkout, err := inspected(ctx, o.Repo)
	if err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(checkout.Top, projectPlace)); err == nil && !o.print {
		return usagef("%s exists already, and init never changes it\nWhat would be proposed: %s --print; what it says: "+
			"divisi config%s", projectPlace, o.again(g), o.inRepo())
	}
	cli, err := git.New(ctx)
	if err != nil {
		return err
	}
	p, err := doctor.Proposed(ctx, cli, checkout, detect.Options{Whole: true, Has: detect.Installed})
	if err != nil {
		return err
	}
	file := p.File(nil)
	switch {
	case o.print:
		_, err = fmt.Fprint(g.out, file)
		return err
	case len(p.Gates) == 0:
		return usagef("no gate was detected in %s: write a command that fails when the code is broken to %s\n  gates:\n"+
			"    - {name: build, command: [make, build]}\nSee docs/project.md", console.Sanitize(checkout.Top), projectPlace)
	}
	names := make([]string, len(p.Gates))
	for i := range p.Gates {
		names[i] = p.Gates[i].Name
	}
	fmt.Fprintf(g.out, "Found %s: %s\n", text.Count(len(names), "gate"), console.Sanitize(text.Some(names, maxFound)))
	if o.unasked(g) {
		fmt.Fprintln(g.out, "Setup and gates are tried, and nothing is written without --yes")
	}
	st, err := g.try(ctx, o, checkout, file)
	if err != nil {
		return err
	}
	tried := triedGates(st)
	for _, line := range findings(st, tried) {
		fmt.Fprintln(g.out, console.Sanitize(line))
	}
	if len(tried) == 0 || allOut(&p, tried) {
		return &endError{codeParked, "no gate proves anything on this commit, and nothing was written\n" +
			"Mend what is named above, or take the proposal as a beginning: " + o.again(g) + " --print"}
	}
	return g.writeProject(ctx, o, checkout, p.File(tried))
}

// again is the beginning of another init of the same repository.
func (o *initOptions) again(g *globals) string { return g.command() + " init" + o.inRepo() }

// unasked reports whether no one can be asked for a yes that was not given.
func (o *initOptions) unasked(g *globals) bool { return !o.yes && (!isTerminal(g.in) || g.json()) }

// try runs setup and gates once, as a run would for its baseline.
func (g *globals) try(ctx context.Context, o *initOptions, checkout *git.Checkout, file string) (*run.State, error) {
	o.Base, o.Trial = checkout.Head, true
	o.Project = &orchestrator.File{Name: projectPlace, Data: []byte(file)}
	v, err := g.prepare(&o.runOptions)
	if err != nil {
		return nil, err
	}
	o.Approve, o.Decide = nil, nil
	o.Trust = func(ctx context.Context, requests []string) (bool, error) {
		if o.trust {
			return true, nil
		}
		t := g.trusting(checkout.Top, checkout, requests)
		t.proposed = true
		if t.trusted || isTerminal(g.in) && !g.json() {
			return true, t.settle(ctx, g)
		}
		return false, usagef("%sThe setup is a proposal, and nothing was run. "+
			"Read the list, then allow it: %s --trust-repo\nTo see the whole proposal: %[2]s --print", t.text(), o.again(g))
	}
	r, err := orchestrator.Start(g.log.WithContext(ctx), o.Options)
	if err != nil {
		return nil, err
	}
	if err := v.follow(ctx, r); errors.Is(err, phase.ErrPreflight) { // the run has told why
		dir := filepath.Join(checkout.Top, filepath.Dir(projectPlace))
		return nil, &endError{codeMachine, fmt.Sprintf("nothing was written: see above why %s is not ready for a run\n"+
			"Write a setup that works to %s, beginning with:\n  mkdir -p %s && %s --print > %s", checkout.Top, projectPlace,
			text.Shell(dir), o.again(g), text.Shell(filepath.Join(checkout.Top, projectPlace)))}
	} else if err != nil {
		return nil, err
	}
	st, _, err := g.store().State(ctx, r.ID())
	return st, err
}

// triedGates words what became of each gate.
func triedGates(st *run.State) map[string]detect.Tried {
	tried := map[string]detect.Tried{}
	lacks := acceptance.Lacks(st)
	for _, one := range st.Spec.Project.Gates {
		r, ok := st.Proofs.Baseline[one.Name]
		if !ok {
			continue
		}
		took := fmt.Sprintf("%.1f s", r.Duration.Seconds())
		why := gate.Incomparable(r)
		switch {
		case acceptance.Explained(lacks, one.Name):
			tried[one.Name] = detect.Tried{Note: "lacks something: " + lackOf(lacks, one.Name), Out: true}
		case why != "":
			tried[one.Name] = detect.Tried{Note: "proves nothing yet: on the base commit " + why, Out: true}
		case r.Verdict == spec.VerdictPass && r.Tests > 0:
			tried[one.Name] = detect.Tried{Note: fmt.Sprintf("%s passed in %s", text.Count(r.Tests, "test"), took)}
		case r.Verdict == spec.VerdictPass:
			tried[one.Name] = detect.Tried{Note: "passed in " + took + "; it names no tests, so its exit code is the proof"}
		default:
			tried[one.Name] = detect.Tried{Note: fmt.Sprintf("%s fail before any change, and are compared; %s",
				text.Count(len(r.Signatures), "signature"), took)}
		}
	}
	return tried
}

func lackOf(lacks []lack.Lack, gate string) string {
	for _, l := range lacks {
		if acceptance.Explained([]lack.Lack{l}, gate) {
			return l.What
		}
	}
	return ""
}

// findings are the lines that tell what was tried. The run has told its notices.
func findings(st *run.State, tried map[string]detect.Tried) []string {
	var lines []string
	for _, g := range st.Spec.Project.Gates {
		if t, ok := tried[g.Name]; ok && !t.Out { // a note says more of the others
			lines = append(lines, fmt.Sprintf("%-12s %s", g.Name, t.Note))
		}
		if hidden := slices.Clone(st.Proofs.Baseline[g.Name].Hidden); len(hidden) > 0 {
			if i := slices.Index(hidden, spec.HiddenAll); i >= 0 {
				hidden[i] = "parts that are not known"
			}
			lines = append(lines, fmt.Sprintf("%-12s hidden on this commit, and not proven by it: %s",
				g.Name, text.Some(hidden, maxShown)))
		}
	}
	return lines
}

const (
	// maxShown is how many packages or files a line names, maxFound how many gates.
	maxShown = 5
	maxFound = 20
)

// allOut reports whether no gate is left.
func allOut(p *detect.Proposal, tried map[string]detect.Tried) bool {
	for _, g := range p.Gates {
		if !tried[g.Name].Out {
			return false
		}
	}
	return true
}

// writeProject writes the file after a yes.
func (g *globals) writeProject(ctx context.Context, o *initOptions, checkout *git.Checkout, file string) error {
	fmt.Fprintln(g.out)
	for _, line := range text.Lines(file) {
		body := strings.TrimLeft(line, " ")
		fmt.Fprintln(g.out, line[:len(line)-len(body)]+console.Sanitize(body))
	}
	if !o.yes {
		if o.unasked(g) {
			_, err := fmt.Fprintf(g.out, "\nNothing was written. To write it to %s: %s --trust-repo --yes\n",
				projectPlace, o.again(g))
			return err
		}
		fmt.Fprintf(g.out, "\nWrite this to %s? [y/N] ", projectPlace)
		yes, err := answer(ctx, func() (bool, error) { return console.Yes(g.in) })
		if err != nil {
			return err
		}
		if !yes {
			return &endError{codeStopped, "nothing was written"}
		}
	}
	err := writeNew(checkout.Top, projectPlace, file)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s exists already, and was not changed", projectPlace)
	}
	if err != nil {
		return err
	}
	t, err := g.requested(ctx, checkout)
	if err != nil {
		return err
	}
	repo, trust := text.Shell(checkout.Top), ""
	if !t.trusted {
		trust = "  " + g.command() + " trust --repo " + repo + "   # agree once to what the file requests, such as its setup\n"
	}
	_, err = fmt.Fprintf(g.out, "\nwrote %[1]s\nNext:\n"+
		"  git -C %[2]s add %[1]s && git -C %[2]s commit -m 'Describe the repository to Divisi'\n"+
		"%[3]s  divisi plan --help   # a plan for it\n", projectPlace, repo, trust)
	return err
}

// propose asks about a setup that no file of the repository names.
func (g *globals) propose(ctx context.Context, o *runOptions, setup, why, requests []string) (bool, error) {
	if o.trust && !o.dryRun {
		return true, nil
	}
	checkout, err := inspected(ctx, o.Repo)
	if err != nil {
		return false, err
	}
	t := g.trusting(checkout.Top, checkout, requests)
	t.proposed = true
	if t.trusted || o.dryRun || !isTerminal(g.in) || g.json() {
		return t.trusted, nil
	}
	fmt.Fprintf(g.out, "The gates cannot run without a setup (%s), and no file names one. Proposed, with the network: %s\n",
		console.Sanitize(text.Some(why, maxShown)), console.Sanitize(text.Flow(setup)))
	err = t.ask(ctx, g)
	if stop := new(endError); errors.As(err, &stop) {
		return false, nil // the gates will say what is missing
	}
	return err == nil, err
}
