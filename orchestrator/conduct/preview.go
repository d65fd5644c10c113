package conduct

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/depot"
	"divisi/orchestrator/fault"
	"divisi/orchestrator/needs"
	"divisi/orchestrator/plan"
	"divisi/orchestrator/run"
)

// Previewed is a plan file as a run would expand it, with the gates that would prove its tasks.
type Previewed struct {
	Plan  json.RawMessage // as the event plan has it
	Gates []PreviewedGate
	// Detected reports that the repository names no gates, and that its files showed these. Setup is the command that its files
	// show where it names no setup: gates may need it.
	Detected bool
	Setup    []string
	// Refused are the reasons for which Start would refuse the run now, what Trust decides left out. Their codes are those of
	// Start.
	Refused []error
}

// PreviewedGate is a gate that a run would have.
type PreviewedGate struct {
	Name    string
	Command []string
	// Took is how long it took on the base commit that was tried last; 0 where that is not known.
	Took time.Duration
}

// refused are the reasons for which a run of the checkout would not begin as it stands. Nothing is run for them.
func (h *Half) refused(ctx context.Context, o *Options) []error {
	err := h.startable(ctx, o)
	return slices.DeleteFunc([]error{err, needs.Check(ctx, &h.Spec, o.Replay, h.login())}, func(e error) bool { return e == nil })
}

// Startable returns why Start refuses the checkout of a repository as it stands. It writes nothing.
func Startable(ctx context.Context, o Options) error {
	g, err := git.New(ctx)
	if err != nil {
		return err
	}
	h := &Half{Git: g}
	if err = h.inspect(ctx, &o); err == nil {
		err = h.startable(ctx, &o)
	}
	if err == nil {
		_, err = h.base(ctx, &o)
	}
	return err
}

// preview expands the plan in a temporary directory.
func (h *Half) preview(ctx context.Context, o *Options) (p Previewed, err error) {
	if h.Path, err = os.MkdirTemp("", "divisi-dry-run-"); err != nil {
		return p, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(h.Path)) }()
	took := depot.GateTimes(h.Caches)
	h.Caches, h.previewed = filepath.Join(h.Path, "caches"), true
	data, err := h.tryPlan(ctx, o)
	if err != nil {
		return p, err
	}
	if len(h.Spec.Project.Gates) == 0 && !o.AllowUnverified {
		h.coded("note: "+noGates+"; a run needs a gate", usage.NoGates)
	}
	for _, g := range h.Spec.Project.Gates {
		p.Gates = append(p.Gates, PreviewedGate{g.Name, g.Command, took[g.Name]})
	}
	p.Detected, p.Setup, p.Refused = h.Spec.Detected, h.Spec.Proposed, h.refused(ctx, o)
	if err := h.workers().gates(); err != nil {
		h.Notices = append(h.Notices, err.Error())
	}
	if err := errors.Join(h.checkPrograms(ctx, o), h.workers().programs(ctx, o.AllowUnverified)); err != nil {
		if !fault.IsUsage(err) {
			return p, err
		}
		p.Refused = append(p.Refused, err)
		h.Notices = append(h.Notices, err.Error())
	}
	for _, n := range slices.Concat(h.shallow(), h.workers().filtered(), needs.Notices(&h.Spec), h.Notices) {
		h.notice("note: " + n)
	}
	data.By = run.ByFile
	p.Plan, err = spec.JSON(run.PreviewOf(data, h.Spec.Roles))
	return p, err
}

// newMirror makes a mirror of the base commit, with the names that trees have from the checkout. That of a preview copies no
// object, but where a command of a shard rule needs them.
func (h *Half) newMirror(ctx context.Context, dir string) (m *git.Repo, err error) {
	if h.previewed && !h.shardsByCommand() {
		m, err = h.Git.BorrowMirror(ctx, dir, h.Checkout, h.Spec.Base)
	} else {
		m, err = h.mirrorBase(ctx, dir)
	}
	if err != nil {
		return nil, err
	}
	refs, err := h.Git.RefsOf(ctx, h.Checkout, h.Spec.Base)
	if err == nil {
		err = m.KeepRefs(refs)
	}
	return m, err
}

// tryPlan expands a plan file before the run exists, so that its faults are found at once, on the gates that the run will have.
func (h *Half) tryPlan(ctx context.Context, o *Options) (data run.PlanData, err error) {
	if h.Mirror, err = h.newMirror(ctx, filepath.Join(h.Path, mirrorDir)); err != nil {
		return data, err
	}
	if err := h.TakePast(ctx); err != nil {
		return data, err
	}
	if err := h.checkSetup(ctx); err != nil {
		return data, err
	}
	note, err := needs.Detect(ctx, h.Mirror, &h.Spec, h.repoRoles, o.Propose)
	if err != nil {
		return data, err
	}
	h.Notices = append(h.Notices, note...)
	h.Spec.Project.Gates = slices.Clone(h.Spec.Project.AllGates())
	for _, g := range o.Gates {
		h.addGate(g)
	}
	if note, err = needs.CI(ctx, h.Mirror, &h.Spec); err != nil {
		return data, err
	}
	h.Notices = append(h.Notices, note...)
	if h.Spec.Plan == nil || len(h.Spec.Plan.Tasks) == 0 {
		return data, nil
	}
	st := run.NewState()
	st.Spec = h.Spec
	data, problems, err := plan.Prepare(ctx, *h.Spec.Plan, &st.Agenda, st.Works, h.Tree(h.Spec.Base, ""))
	if err == nil {
		err = h.positions.Error(problems)
	}
	if undone := func(p spec.Problem) bool { return !p.Done }; err != nil && len(problems) == len(h.Spec.Plan.Tasks) &&
		!slices.ContainsFunc(problems, undone) {
		err = h.nothingLeft(err, problems[0])
	}
	return data, err
}

// addGate adds a gate to those of the project, unless one of them has its command: then the plan mends that one. Where another
// command has its name it gets a number.
func (h *Half) addGate(g spec.Gate) {
	gates, name := h.Spec.Project.Gates, g.Name
	if at := slices.IndexFunc(gates, func(had spec.Gate) bool { return slices.Equal(had.Command, g.Command) }); at >= 0 {
		gates[at].Format, name = cmp.Or(gates[at].Format, g.Format), gates[at].Name
	} else {
		for n := 2; slices.Contains(h.Spec.GateNames(), name); n++ {
			name = fmt.Sprintf("%s-%d", g.Name, n)
		}
		h.Spec.Project.Gates = append(gates, spec.Gate{Name: name, Command: g.Command, Format: g.Format})
	}
	if p := h.Spec.Plan; p != nil {
		for i := range p.Tasks {
			p.Tasks[i].Mends = slices.Clone(p.Tasks[i].Mends)
			if at := slices.Index(p.Tasks[i].Mends, g.Name); at >= 0 {
				p.Tasks[i].Mends[at] = name
			}
		}
	}
}

// nothingLeft is the error of a plan whose rules all match nothing. Its work is known to be done where an earlier run on the
// repository landed tasks of each rule with the same match; else match may be wrong.
func (h *Half) nothingLeft(err error, first spec.Problem) error {
	var landed []string
	for _, r := range h.Dir.Earlier(h.Checkout.Top) {
		landed = append(landed, r.Matches...)
	}
	for _, t := range h.Spec.Plan.Tasks {
		if !slices.Contains(landed, t.Shard.Match) {
			return fmt.Errorf("nothing is left to do, or match is wrong: %w", err)
		}
	}
	return usage.With(usage.Errorf("nothing is left to do: %s: %s", first.Path, first.Message), usage.NothingLeft)
}

// gated refuses a run that no gate can prove.
func (h *Half) gated(o *Options) error {
	if len(h.Spec.Project.Gates) > 0 || o.AllowUnverified {
		return nil
	}
	return usage.With(usage.Errorf("%s\n"+
		"Write a gate, a command that fails when the code is broken, to .divisi/divisi.yaml and commit it:\n"+
		"  gates:\n    - {name: build, command: [make, build]}", noGates), usage.NoGates)
}

const noGates = "the repository has no gates: no change could be proven before it lands"

// configDir has the configuration of a repository, with its roles.
const configDir = ".divisi"

// programs are those of commands of the run.
func (h *Half) programs() *needs.Base {
	return &needs.Base{Git: h.Git, Checkout: h.Checkout, Mirror: h.Mirror, Spec: &h.Spec}
}

func (h *Half) checkPrograms(ctx context.Context, o *Options) error {
	notices, err := h.programs().Check(ctx, o.AllowUnverified)
	h.Notices = append(h.Notices, notices...)
	return err
}

// Preview expands a plan file as Start does, and reports what Start would refuse. It writes only to a temporary directory,
// which it removes. It runs the commands of shard rules, which without the yes of Trust see none of the variables that the
// repository requests.
func Preview(ctx context.Context, o Options) (p Previewed, err error) {
	if o.Plan == nil {
		return p, usage.Errorf("a preview needs a plan: a goal is planned by a model")
	}
	o.Fetch = nil
	h, err := prepare(ctx, &o, toShow)
	if err != nil {
		return p, err
	}
	return h.preview(ctx, &o)
}
