package doctor

import (
	"context"
	"fmt"
	"slices"

	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/orchestrator/settings"
	"divisi/subagents/gate"
	"divisi/subagents/gate/ci"
	"divisi/subagents/gate/detect"
	"divisi/subagents/gate/missing"
)

// maxHidden is how many packages or files a line names.
const maxHidden = 5

// Proposal holds the needs of a repository, as the files of a commit show them.
type Proposal struct {
	Top, Head string   // the repository and the commit
	Gates     []string // their names
	CI        CI
	named     string // the text of a project file that the person names in place of what was found; "" for none
	found     detect.Proposal
	kept      settings.Kept
}

// Propose reads the checked out commit of the repository that a directory is in.
func (o Options) Propose(ctx context.Context, dir string) (*Proposal, error) {
	g, checkout, err := inspect(ctx, o.Store, dir)
	if err != nil {
		return nil, err
	}
	p := &Proposal{Top: checkout.Top, Head: checkout.Head}
	if p.kept, err = settings.At(o.Store, checkout); err != nil {
		return nil, err
	}
	err = mirrored(ctx, g, checkout, func(mirror *git.Repo) error {
		p.found, err = detect.At(ctx, mirror, checkout.Head, detect.Options{
			Whole: true, Has: detect.Installed, Servers: servers(ctx, checkout.Top),
		})
		if err != nil {
			return err
		}
		found, err := ci.At(ctx, mirror, checkout.Head)
		if err != nil {
			return err
		}
		p.CI = newCI(found, p.found.Gates, nil)
		return nil
	})
	p.Gates = names(p.found.Gates)
	if o.Project == nil || err != nil {
		return p, err
	}
	named, err := configs.ParseProject(o.Project.Name, o.Project.Text)
	if p.named = o.Project.Text; len(named.Gates) > 0 { // else those that were found
		p.Gates = names(named.Gates)
	}
	return p, err
}

func names(gates []spec.Gate) (names []string) {
	for i := range gates {
		names = append(names, gates[i].Name)
	}
	return names
}

// Choose makes gates of commands of CI, by their places among those that could be gates.
func (p *Proposal) Choose(chosen []int) {
	for _, n := range chosen {
		j := p.CI.offers[n]
		j.Note = proof.GateName([]string{j.Text}, p.found.Gates)
		j.State = ci.Gate
		p.found.Gates = append(p.found.Gates, spec.Gate{Name: j.Note, Command: j.Argv()})
		p.Gates = append(p.Gates, j.Note)
	}
}

// Notes name what was found and is in no gate.
func (p *Proposal) Notes() []string { return p.found.Notes }

// Services are the lines that tell the services, in the words for the file, and how many they are.
func (p *Proposal) Services() (lines []string, n int) {
	return text.Lines(p.found.Beside.File(true)), len(p.found.Beside.Services)
}

// Serve takes the services: commands of CI that need them can become gates.
func (p *Proposal) Serve() {
	p.found.Serve = true
	p.CI = newCI(p.CI.found, p.found.Gates, p.found.Beside.Services)
}

// Unserve leaves out services with which the gates could not be tried. It reports whether they were taken.
func (p *Proposal) Unserve() bool {
	taken := p.found.Serve
	if p.found.Serve = false; taken {
		p.found.Beside.Notes = append(p.found.Beside.Notes, "with these services the gates could not be tried")
	}
	return taken
}

// Lessen takes a weaker proposal, where the setup has failed (nil) or no gate proves anything: an installation without the
// scripts of packages, or parts of gates. It returns what it is, and "" where there is none.
func (p *Proposal) Lessen(t *Trial) (what string) {
	switch {
	case p.named != "" || t == nil && p.found.Bare == nil:
		return ""
	case t == nil:
		p.found.Setup, p.found.Bare = p.found.Bare, nil
		return "an installation without the scripts of packages"
	}
	var gates []spec.Gate
	for _, g := range p.found.Gates {
		parts := p.found.Instead[g.Name]
		if len(parts) == 0 || !t.gates[g.Name].Out {
			gates = append(gates, g)
			continue
		}
		what, gates = "a part of gate "+g.Name, append(gates, parts...)
		p.found.Notes = append(p.found.Notes, fmt.Sprintf("%s proves nothing on this commit, and only a part of it is a gate: %s",
			text.Flow(g.Command), text.Some(names(parts), maxHidden)))
	}
	p.found.Gates = gates
	p.Gates = names(gates)
	p.found.Instead = nil
	p.CI = newCI(p.CI.found, p.found.Gates, p.found.Beside.Services)
	return what
}

// Keep keeps the text of a project file outside of the repository, and returns where.
func (p *Proposal) Keep(text string) (file string, err error) { return p.kept.Path, p.kept.Write(text) }

// File is the proposal as a project file, with what is known of its gates; nil for nothing.
func (p *Proposal) File(t *Trial) string {
	if p.named != "" {
		return p.named
	}
	if t == nil {
		t = &Trial{}
	}
	found := p.found
	switch {
	case len(t.Derived) == 0:
	case t.Unread:
		found.Derived = []string{}
	default:
		found.Notes = append(slices.Clone(found.Notes), fmt.Sprintf("setup makes %s out of tracked files, and not again without "+
			"network, so each patch is asked about: write derived: [] where no gate reads them, or regenerate: [COMMAND], which "+
			"makes them again", text.Some(t.Derived, maxHidden)))
	}
	return found.File(t.gates) + p.CI.file(t.gates)
}

// Trial is the outcome of the gates in a run that tried them.
type Trial struct {
	Lines   []string // that tell it
	Derived []string // what setup makes of tracked files and nothing makes again for a patch
	Unread  bool     // a person has answered that no gate reads it
	gates   map[string]detect.Tried
}

// Tried reads the log of a run that has tried a proposal.
func (o Options) Tried(ctx context.Context, id string) (*Trial, error) {
	st, _, err := o.Store.State(ctx, id)
	if err != nil {
		return nil, err
	}
	if len(st.Proofs.Baseline) == 0 { // it was stopped
		if a := st.Works[run.BaselineTask].Newest(); a != nil {
			st = st.WithBaseline(a.Receipts)
		}
	}
	tried := triedGates(st)
	t := &Trial{Lines: findings(st, tried), gates: tried}
	if r := st.Works.SetUp(); r != nil && len(st.Spec.Project.Regenerate) == 0 {
		t.Derived = r.Derived
	}
	return t, nil
}

// Proves reports whether a gate proves something.
func (p *Proposal) Proves(t *Trial) bool {
	return len(t.gates) > 0 && slices.ContainsFunc(p.Gates, func(name string) bool { return !t.gates[name].Out })
}

// triedGates words what became of each gate.
func triedGates(st *run.State) map[string]detect.Tried {
	tried := map[string]detect.Tried{}
	lacks := proof.Lacks(&st.Spec, &st.Proofs)
	for _, one := range st.Spec.Project.Gates {
		r, ok := st.Proofs.Baseline[one.Name]
		if !ok {
			tried[one.Name] = detect.Tried{Note: "not tried to its end: the trial was stopped", Out: true}
			continue
		}
		took := fmt.Sprintf("%.1f s", r.Duration.Seconds())
		why := gate.Incomparable(r)
		switch {
		case proof.Explained(lacks, one.Name):
			tried[one.Name] = detect.Tried{Note: "lacks something: " + lackOf(lacks, one.Name), Out: true}
		case why != "":
			tried[one.Name] = detect.Tried{
				Note: "proves nothing yet: on the base commit " + why + ": " + gate.Reason(r, nil),
				Out:  true,
			}
		case r.Verdict == spec.VerdictPass && r.Tests > 0:
			note := fmt.Sprintf("%s passed in %s", text.Count(r.Tests, "test"), took)
			if r.Skipped > 0 {
				note += fmt.Sprintf(", %d skipped", r.Skipped)
			}
			tried[one.Name] = detect.Tried{Note: note}
		case r.Verdict == spec.VerdictPass:
			tried[one.Name] = detect.Tried{Note: "passed in " + took + "; it names no tests, so its exit code is the proof"}
		default:
			tried[one.Name] = detect.Tried{Note: fmt.Sprintf("fails before any change, with %s to compare with; %s",
				text.Count(len(r.Signatures), "signature"), took)}
		}
		if t := tried[one.Name]; r.Beyond != "" && !t.Out {
			t.Note += "; every patch starts it, whatever its paths: " + r.Beyond
			tried[one.Name] = t
		}
	}
	return tried
}

func lackOf(lacks []missing.Need, gate string) string {
	for _, l := range lacks {
		if proof.Explained([]missing.Need{l}, gate) {
			return l.What
		}
	}
	return ""
}

// findings are the lines that tell what was tried. The run has told its notices.
func findings(st *run.State, tried map[string]detect.Tried) []string {
	var lines []string
	for _, g := range st.Spec.Project.Gates {
		_, ended := st.Proofs.Baseline[g.Name]
		if t := tried[g.Name]; !t.Out || !ended { // a note says more of the others
			lines = append(lines, fmt.Sprintf("%-12s %s", g.Name, t.Note))
		}
		if hidden := slices.Clone(st.Proofs.Baseline[g.Name].Hidden); len(hidden) > 0 {
			if i := slices.Index(hidden, spec.HiddenAll); i >= 0 {
				hidden[i] = "parts that are not known"
			}
			lines = append(lines, fmt.Sprintf("%-12s hidden on this commit, and not proven by it: %s",
				g.Name, text.Some(hidden, maxHidden)))
		}
	}
	return lines
}
