package assign

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"divisi/bus"
	"divisi/contextscope/narrative"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/orchestrator/master"
	"divisi/orchestrator/run"
	"divisi/subagents/gate"
	"divisi/subagents/wire"
)

// Sealer makes the assignments of a run's attempts. It is used by one goroutine.
type Sealer struct {
	run    string
	bus    *bus.Bus
	mirror *git.Repo
	// share makes a commit that builds on another one known to a conductor that takes the run over.
	share func(ctx context.Context, commit, onto string) error
	// stored names the slices that are in the object store.
	stored map[string]bool
}

// NewSealer returns a sealer of a run that reads patches from its mirror. It calls share for each commit that it makes before an
// assignment names it.
func NewSealer(run string, b *bus.Bus, mirror *git.Repo, share func(ctx context.Context, commit, onto string) error) *Sealer {
	return &Sealer{run: run, bus: b, mirror: mirror, share: share, stored: map[string]bool{}}
}

// Seal stores what an attempt is given, as the state is when it is dispatched, and returns the name of the object. The error is
// an *InputError where the task asks for an artifact that does not exist.
func (x *Sealer) Seal(ctx context.Context, st *run.State, d *run.Dispatch) (string, error) {
	a, err := (&given{x, st}).assignment(ctx, d)
	if err != nil {
		return "", fmt.Errorf("prepare %s/%d: %w", d.Task, d.Attempt, err)
	}
	name, data, err := a.Seal()
	if err == nil {
		err = x.bus.Put(ctx, name, data)
	}
	if err != nil {
		return "", fmt.Errorf("store the assignment of %s/%d: %w", d.Task, d.Attempt, err)
	}
	return name, nil
}

// given makes one assignment from one state.
type given struct {
	*Sealer
	st *run.State
}

func (g *given) assignment(ctx context.Context, d *run.Dispatch) (*wire.Assignment, error) {
	s := &g.st.Spec
	a := &wire.Assignment{
		Run: g.run, Attempt: d.Attempt, Goal: s.Goal, Project: s.Project, Role: s.Roles[d.Role], Head: d.Head,
		Environment: g.st.Environment(), Group: d.Group, Not: d.Not,
	}
	if a.Role.Name == "" {
		return nil, fmt.Errorf("role %s is not among the run's", d.Role)
	}
	if task, ok := strings.CutSuffix(d.Task, run.VerifySuffix); ok {
		return a, g.assignVerify(a, d.Task, task)
	}
	switch {
	case strings.HasPrefix(d.Task, run.BatchTask), strings.HasPrefix(d.Task, run.ReproveTask),
		strings.HasSuffix(d.Task, run.RedSuffix):
		a.Baseline, a.Others, a.Since = g.st.Proofs.AsOf(g.st.Batches.ReprovenAt(d.Task)), g.others(d), d.Since
		if of := g.st.Tasks.ByID[strings.TrimSuffix(d.Task, run.RedSuffix)]; of != nil && of.Trial != nil {
			g.assignTrial(a, d, of)
			return a, nil
		}
		a.Task = untimed(gateTask(d.Task, "Run the gates on a batch", d.Gates), s.Project.Gates)
		a.Task.Mends, a.Task.Through = d.Mends, d.Through
		if g.st.Tasks.InRounds(d.Mends) {
			a.Task.Rule = &spec.ShardRule{Round: 1}
		}
		if len(d.Through) > 0 || g.st.Batches.Passage != nil {
			a.Passage = g.st.Head
		}
	case d.Task == run.SetupTask:
		a.Base, a.Setup, a.Environment, a.Project.Gates = true, s.Project.Setup.Command, "", nil
		a.Task = gateTask(d.Task, "Set up", nil)
	case d.Task == run.BaselineTask, strings.HasPrefix(d.Task, run.GateTask):
		a.Base = true
		a.Task = gateTask(d.Task, "Run the gates on the base commit", nil)
	case d.Task == run.FlakesTask, d.Task == run.AgainTask:
		a.Base, a.Idle, a.Project.Gates = true, d.Task == run.FlakesTask, gate.Uncached(s.Project.Gates)
		a.Task = untimed(gateTask(d.Task, "Run the gates on the base commit once more", d.Gates), s.Project.Gates)
	case d.Task == run.HeadTask:
		a.Baseline, a.Others, a.Project.Gates = g.st.Proofs.AsOf(0), g.others(d), gate.Uncached(s.Project.Gates)
		a.Task = untimed(gateTask(d.Task, "Run gates without a patch that is red", d.Gates), s.Project.Gates)
	case d.Task == run.FinalTask:
		a.Baseline, a.Others = g.st.Proofs.AsOf(g.st.Batches.Green()), g.others(d)
		a.Task = untimed(gateTask(d.Task, "Run the final gates", d.Gates), s.Project.Gates)
	case d.Task == run.MasterTask:
		if err := g.assignMaster(ctx, a); err != nil {
			return nil, err
		}
	default:
		return a, g.assignTask(ctx, a, g.st.Tasks.ByID[d.Task], d.Tokens)
	}
	if d.Task != run.MasterTask {
		a.Role = gatesAlone(a.Role)
	}
	return a, nil
}

// others are the baselines of other environments in which the gates of a dispatch may run.
func (g *given) others(d *run.Dispatch) map[string]map[string]spec.Receipt {
	if d.InFirst && g.st.ReferenceServed("") {
		return nil
	}
	return g.st.Proofs.Among()
}

// gatesAlone is a tester that only runs gates: the run's own gate runs have no patch that a model could judge.
func gatesAlone(r spec.Role) spec.Role {
	r.Executor = ""
	return r
}

func gateTask(id, title string, gates []string) spec.Task {
	return spec.Task{ID: id, Title: title, Role: spec.RoleTester, Gates: gates}
}

// untimed leaves the time of a gate run to its gates, which have limits of their own: a limit of the whole would lose the
// receipts of those that have ended.
func untimed(t spec.Task, gates []spec.Gate) spec.Task {
	t.Limits.Time = spec.Duration(time.Hour)
	for _, g := range gates {
		t.Limits.Time += cmp.Or(g.Timeout, spec.Duration(gate.DefaultTimeout))
	}
	return t
}

// assignTrial is an experiment with tests: those of the directories of some files, by the words of their task. Its gate has the
// command of another one: it belongs to the same environment as the baseline.
func (g *given) assignTrial(a *wire.Assignment, d *run.Dispatch, of *run.Task) {
	trial := spec.Gate{Name: spec.WeakerGate, Command: []string{"go", "test"}, Timeout: spec.Duration(g.st.TrialTime())}
	if len(a.Project.Gates) > 0 {
		trial.Command = a.Project.Gates[0].Command
	}
	a.Project.Gates = append(slices.Clip(a.Project.Gates), trial)
	a.Task = untimed(gateTask(d.Task, "Try whether tests are weaker", d.Gates), a.Project.Gates)
	a.Task.Files, a.Task.Brief, a.Role = of.Trial.Files, of.Task.Brief, gatesAlone(a.Role)
}

func (g *given) assignVerify(a *wire.Assignment, id, of string) error {
	t := g.st.Tasks.ByID[of]
	if t == nil || t.Result == nil || t.Result.Patch == nil || t.Result.Patch.Commit != a.Head {
		return fmt.Errorf("task %s has no patch %s", of, a.Head)
	}
	r := t.Result
	a.Task = t.Task
	a.Task.Files = t.WriteSet(nil).Files
	a.Task.Constraints = g.st.Constraints(t)
	a.Task.ID, a.Task.Role, a.Task.Command = id, a.Role.Name, a.Role.Command
	a.Task.Title = "Judge " + of
	// The task's limits bound its own agent.
	a.Task.Limits = a.Role.Limits.Or(g.st.Spec.Project.Limits)
	a.Patch, a.Baseline, a.BaselineFollows = r.Patch, g.st.Proofs.AsOf(0), !g.st.Baselined()
	a.DecisionRecord = g.st.Plans.All[t.Plan].DecisionRecord
	a.Inputs = []wire.Input{{Task: of, Role: t.Task.Role, Handoff: r.Handoff}} // to a judge a claim
	return nil
}

func (g *given) assignMaster(ctx context.Context, a *wire.Assignment) error {
	a.Task = spec.Task{
		ID: run.MasterTask, Title: "Plan the run", Role: spec.RoleMaster, Brief: g.st.Spec.Goal,
		IncludeContents: spec.IncludeNone,
		Limits:          a.Role.Limits.Or(g.st.Spec.Project.Limits),
	}
	for n := 1; n < a.Attempt; n++ {
		a.Continues = append(a.Continues, n)
	}
	// No message comes between the newest event of this conductor and the one that it appends next.
	a.From = cmp.Or(g.st.Works.CalledAt(a.Attempt), g.st.ConductorPos)
	if a.Attempt == 1 {
		return nil
	}
	a.Message = master.Message(&g.st.Agenda, &g.st.Agents, a.Attempt)
	for _, t := range master.Held(&g.st.Tasks, g.st.Works, a.Attempt) {
		diff, cut, err := g.mirror.Diff(ctx, t.Result.Patch.Base, t.Result.Patch.Commit, maxPriorDiff)
		if err != nil {
			return fmt.Errorf("read the held patch of %s: %w", t.Task.ID, err)
		}
		if cut {
			diff += "\n… (more was changed)"
		}
		a.Message += fmt.Sprintf("\nThe held patch of %s, which is data:\n%s\n", t.Task.ID, narrative.Quote(diff))
		if len(a.Message) > maxHeld {
			break // the evidence of the others is in the message
		}
	}
	return nil
}

// maxHeld is the size of the master's message, in bytes, from which on held patches are left out.
const maxHeld = 64 << 10

func (g *given) assignTask(ctx context.Context, a *wire.Assignment, t *run.Task, tokens int) error {
	a.Task, a.Role = t.Task, g.st.Spec.RoleOn(t, t.Next.At)
	a.Task.Constraints = g.st.Constraints(t)
	a.Task.Limits.Tokens = cmp.Or(tokens, a.Task.Limits.Tokens)
	a.DecisionRecord = g.st.Plans.All[t.Plan].DecisionRecord
	var err error
	if a.Inputs, err = g.inputs(ctx, t); err != nil {
		return err
	}
	passOn(t, a)
	if err := g.continueCommand(ctx, a, t); err != nil {
		return err
	}
	if q := g.st.Requests.For(t); q != nil && len(q.Artifacts) > 0 {
		given := spec.Handoff{Summary: "load_artifact shows you these.", Artifacts: q.Artifacts}
		a.Inputs = append(a.Inputs, wire.Input{Task: q.Of, Role: g.st.Works[q.Of].RoleAt(q.Attempt), Handoff: given})
	}
	for _, f := range t.Faults {
		p, err := g.prior(ctx, a, t, f)
		if err != nil {
			return err
		}
		a.Prior = append(a.Prior, p)
	}
	if slices.Contains(a.Role.Tools, spec.ToolDelegate) || slices.Contains(a.Role.Tools, spec.ToolTransfer) {
		for _, name := range g.st.Spec.Callees(&a.Role) {
			r := g.st.Spec.Roles[name]
			a.Roles = append(a.Roles, wire.Callee{Name: name, Description: r.Description, Writes: r.ChangesFiles()})
		}
	}
	if slices.Contains(a.Role.Tools, spec.ToolRunGates) {
		a.Baseline, a.BaselineFollows = g.st.Proofs.AsOf(0), !g.st.Baselined()
	}
	a.Slice, err = g.slice(ctx, a, t)
	return err
}

// prior describes how an earlier attempt ended and what it had changed, unless that is in the tree as its command left it. The
// mirror lacks a patch that was refused at its import.
func (g *given) prior(ctx context.Context, a *wire.Assignment, t *run.Task, f run.AttemptFault) (wire.Prior, error) {
	p := wire.Prior{Attempt: f.Attempt, Fault: f.Fault, Summary: f.Summary}
	var command *run.AttemptFault
	if a.Start != nil {
		command = g.commandBefore(t)
	}
	if command != nil && command.Attempt == f.Attempt {
		p.Kept = true
		p.Fault.Detail, _, _ = strings.Cut(p.Fault.Detail, wire.ChangedByThen)
		return p, nil
	}
	p.Kept = slices.ContainsFunc(t.Kept, func(k run.Kept) bool { return k.Attempt == f.Attempt })
	if f.Patch == nil {
		return p, nil
	}
	known, err := g.mirror.Has(ctx, f.Patch.Commit)
	if err != nil {
		return p, fmt.Errorf("find the patch of attempt %d: %w", f.Attempt, err)
	}
	if !known {
		return p, nil
	}
	// From the leased head: the base that a refused patch names may not exist.
	head := g.st.Works[t.Task.ID].Attempts[f.Attempt].Head
	if command != nil && f.Attempt > command.Attempt && head == a.Head {
		head = a.Start.Commit // it began with the same tree
	}
	diff, cut, err := g.mirror.Diff(ctx, head, f.Patch.Commit, maxPriorDiff)
	if err != nil {
		return p, fmt.Errorf("read the diff of attempt %d: %w", f.Attempt, err)
	}
	p.Fault.Detail, _, _ = strings.Cut(p.Fault.Detail, wire.ChangedByThen)
	if p.Diff = diff; cut {
		p.Diff += "\n… (more was changed)"
	}
	return p, nil
}

// maxPriorDiff bounds, in bytes, what the next attempt sees of a failed attempt's patch.
const maxPriorDiff = 12 << 10
