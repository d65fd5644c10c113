package landing

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ProveRed has the gates run on the tests of a change set alone, on the integration head, before the set is merged: they must
// fail there. That they pass with the change is proven with the set.
func ProveRed(s *run.State) []run.Action {
	in := factsOf(s)
	if !s.Baselined() {
		return nil
	}
	for t := range in.tasks.In(run.TaskAccepted) {
		if set := in.tasks.Set(t); !lacksRed(in.spec, t) || set == nil || set.Lost != nil {
			continue
		}
		if actions := proveRed(s, t); len(actions) > 0 {
			return actions
		}
	}
	return nil
}

func proveRed(s *run.State, t *run.Task) []run.Action {
	in := factsOf(s)
	red := run.Red{Of: t.Attempt}
	if t.Red != nil && t.Red.Of == t.Attempt {
		if red = *t.Red; red.Tree != "" {
			return ranRed(s, t, red)
		}
	}
	set, others := in.tasks.Set(t), map[string]bool{}
	for _, m := range set.Members {
		others[m.Task.ID] = m != t
	}
	m := mergeOf(s, s.Head, set, others)
	if len(m.Candidates) == 0 {
		return unproven(s, t, "the task wrote no test", "")
	}
	m.Then = func(c Chain) []run.Action {
		if len(c.Conflicts) > 0 {
			return recovery.Failed(s, t, spec.Fault{
				Class: wire.FaultConflict,
				Message: "without the rest of its change set it conflicts with what landed before it in " +
					strings.Join(c.Conflicts[0].Paths, ", "), Detail: c.Conflicts[0].Message,
			})
		}
		red.Tree, red.Since = c.Tree, s.Head
		first, gates := in.proofs.Reference(), in.spec.GatesOf(t.Task)
		ran := in.proofs.PassedIn(first, c.Tree, gates, s.Head) != nil ||
			len(in.proofs.FailedIn(first, c.Tree, gates, s.Head)) > 0
		if ran && !slices.Contains(red.In, first) {
			return decideRed(s, t, red, first)
		}
		return []run.Action{testRed(in.works, in.spec, t, red, c.Head)}
	}
	return []run.Action{m}
}

// testRed assigns the gates of a task's tests alone.
func testRed(works run.Works, about *run.Spec, t *run.Task, red run.Red, head string) run.Action {
	work := t.Task.ID + run.RedSuffix
	red.Run = 1
	if w := works[work]; w != nil {
		red.Run = w.Last + 1
	}
	d := &run.Dispatch{
		Task: work, Attempt: red.Run, Role: spec.RoleTester, Head: head, Gates: about.GatesOf(t.Task), Since: red.Since,
		InFirst: true,
	}
	return run.Assign{
		Append: run.Append{Task: t.Task.ID, Data: run.TaskData{State: run.TaskAccepted, Red: &red, Dispatch: d}}, Dispatch: d,
	}
}

// ranRed decides when the gates have run. Those that could not be run are tried again; in the end that is the run's fault.
func ranRed(s *run.State, t *run.Task, red run.Red) []run.Action {
	in := factsOf(s)
	w := in.works[t.Task.ID+run.RedSuffix]
	a := w.Attempts[red.Run]
	switch r := a.Result; {
	case r == nil:
		return nil
	case proves(red, a):
		return decideRed(s, t, red, r.Receipts[0].Environment)
	case fruitless(s.Epoch, w, red) >= recovery.MaxGateTries+in.works.Foreign(w.ID):
		return []run.Action{run.Fail{
			Err: fmt.Errorf("the gates of the tests of %s could not be run: %s", t.Task.ID, run.FaultOf(r).Message),
		}}
	default:
		return []run.Action{testRed(in.works, in.spec, t, red, a.Head)}
	}
}

// proves reports whether a run of gates left receipts of the tests alone.
func proves(red run.Red, a *run.Attempt) bool {
	return a.Result != nil && len(a.Result.Receipts) > 0 && provedOn(red.Tree, a.Result.Receipts)
}

// fruitless counts the newest runs of the same tests, in a row, that left no receipts. A resumed run tries again.
func fruitless(epoch int, w *run.Work, red run.Red) (n int) {
	head := w.Attempts[red.Run].Head
	for a := w.Attempts[red.Run]; a != nil && a.Head == head && a.Epoch == epoch && !proves(red, a); a = w.Attempts[red.Run-n] {
		n++
	}
	return n
}

// decideRed accepts tests that fail, in one environment, in what the task wrote. A test leads there by its package; another
// failure, such as a name that does not exist yet, by its file alone.
func decideRed(s *run.State, t *run.Task, red run.Red, environment string) []run.Action {
	in := factsOf(s)
	own, files := changed{}, []string{}
	for _, k := range t.Patches() {
		own.add(t.Task.ID, k.Patch.Files)
		files = append(files, k.Patch.Files...)
	}
	var other []string
	for _, f := range in.proofs.FailedIn(environment, red.Tree, in.spec.GatesOf(t.Task), red.Since) {
		for _, signature := range causes(in.proofs, f.Receipt) {
			paths := failureOf(f.Receipt, signature).paths
			mine := slices.ContainsFunc(paths, func(p string) bool { return slices.Contains(files, p) })
			if ofPackage(signature) && !follows(signature) {
				mine = len(own.of(paths)) > 0
			}
			if mine {
				red.Failed = append(red.Failed, f.Receipt.Gate+": "+signature)
			} else {
				other = append(other, f.Receipt.Gate+": "+signature)
			}
		}
	}
	switch {
	case len(red.Failed) > 0:
		red.In = append(slices.Clone(red.In), environment)
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted, Red: &red})}
	case len(other) > 0:
		return unproven(s, t, "without the change the gates fail in nothing that this task wrote: "+text.Some(other, maxMet),
			strings.Join(other, "\n"))
	default:
		return unproven(s, t, "the new tests pass without the change: they prove nothing", "")
	}
}

func unproven(s *run.State, t *run.Task, message, detail string) []run.Action {
	return recovery.Failed(s, t, spec.Fault{Class: wire.FaultProof, Message: message, Detail: detail})
}

// receiptsOf are the good receipts of a batch that is proven. Those of a change set are of one environment in which all of its
// tests have failed without it: two environments could show a failure and a pass whatever the change does. same is false where
// there is no such one.
func receiptsOf(in facts, d run.LandingData, gates []string) (receipts []spec.Receipt, same bool) {
	proving := provingOf(in, d)
	if len(proving) == 0 {
		return in.proofs.Receipts(d.Tree, gates, d.Old), true
	}
	for _, environment := range proving[0].Red.In {
		lacks := func(t *run.Task) bool { return !slices.Contains(t.Red.In, environment) }
		if !slices.ContainsFunc(proving, lacks) {
			if receipts := in.proofs.PassedIn(environment, d.Tree, gates, d.Old); receipts != nil {
				return receipts, true
			}
		}
	}
	return nil, false
}

// provingOf lists the tasks of a change set whose tests have failed without it.
func provingOf(in facts, d run.LandingData) (proving []*run.Task) {
	for _, l := range d.Tasks {
		if t := in.tasks.ByID[l.Task]; d.Set != "" && t.ProvedRed() {
			proving = append(proving, t)
		}
	}
	return proving
}

// redAgain has the tests of a set fail once more, after the set has passed in another environment. Where that does not come to an
// end, the run does.
func redAgain(s *run.State, d run.LandingData) (actions []run.Action) {
	in := factsOf(s)
	for _, t := range provingOf(in, d) {
		red := run.Red{Of: t.Attempt, In: t.Red.In, Again: t.Red.Again + 1}
		a := in.works[t.Task.ID+run.RedSuffix].Newest()
		if red.Again > recovery.MaxGateTries && a != nil && a.Epoch == s.Epoch {
			return []run.Action{run.Fail{Err: fmt.Errorf("the tests of %s fail without the change set %s in one environment "+
				"of workers, and the set passes in another one. Have workers of one of them alone, and go on", t.Task.ID, d.Set)}}
		}
		actions = append(actions, run.SetTask(t.Task.ID, run.TaskData{State: run.TaskAccepted, Red: &red}))
	}
	return actions
}

// lacksRed reports whether the tests of a task's newest attempt have yet to fail without the change.
func lacksRed(about *run.Spec, t *run.Task) bool {
	proves := about.Roles[t.Task.Role].Proves == spec.ProvesRedGreen && t.Task.ChangeSet != ""
	return proves && !t.ProvedRed()
}
