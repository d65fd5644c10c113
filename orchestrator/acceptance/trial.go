package acceptance

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
)

// tries reports whether an experiment can release the patch: all that speaks against it is that its tests may be weaker.
func (v Verdict) tries() bool {
	return !slices.ContainsFunc(v.Findings, func(f Finding) bool { return !f.Open })
}

// definition is a line that gives something a name.
var definition = re(`\b(?:func(?:\s*\([^)]*\))?|def|class|function|const|let|var|type|interface)\s+([\w$]+)`)

var name = re(`[\p{L}_$][\p{L}\p{N}_$]*`)

// renames are the new names of what the patch defines in lines that are the same otherwise, paired in their order. A name that
// stays, or was there, is none.
func (p *Patch) renames() map[string]string {
	var forms [2]map[string][]string
	var all [2]map[string]bool
	for side := range 2 {
		forms[side], all[side] = map[string][]string{}, map[string]bool{}
		for _, f := range p.files {
			for _, l := range [][]line{f.lost, f.gained}[side] {
				if m := definition.FindStringSubmatch(l.text); m != nil {
					form := f.Path + "\n" + strings.ReplaceAll(l.text, m[1], " ")
					forms[side][form], all[side][m[1]] = append(forms[side][form], m[1]), true
				}
			}
		}
	}
	out := map[string]string{}
	for form, was := range forms[0] {
		now := forms[1][form]
		for i := range was {
			if len(now) == len(was) && !all[1][was[i]] && !all[0][now[i]] {
				out[was[i]] = now[i]
			}
		}
	}
	return out
}

// renamedBy reports whether new names of what the patch defines are all that differs in a file.
func (f *file) renamedBy(names map[string]string) bool {
	return slices.EqualFunc(f.lost, f.gained, func(was, now line) bool {
		return now.text == name.ReplaceAllStringFunc(was.text, func(n string) string { return cmp.Or(names[n], n) })
	})
}

// try puts a patch aside for an experiment, also where only that can speak against it.
func try(t *run.Task, v Verdict, d run.Doubt) []run.Action {
	trial := &run.Trial{Doubt: d, Files: slices.Clone(v.Tests), Form: v.Form}
	for _, f := range v.Findings {
		trial.Files = append(trial.Files, f.Path)
		trial.Fewer = trial.Fewer || f.Check == "tests"
	}
	slices.Sort(trial.Files)
	trial.Files = slices.Compact(trial.Files)
	return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskVerifying, Trial: trial})}
}

// Try has experiments made with the tests of patches that wait for them, one after the other, those first that change tests as no
// other one that was tried, and then the most suspicious, and decides what they tell.
func Try(s *run.State) []run.Action {
	if t := untrusted(s); t != nil {
		again := *t.Tried
		again.Run, again.By = 0, ""
		return []run.Action{run.SetTask(t.Task.ID, run.TaskData{State: run.TaskVerifying, Trial: &again})}
	}
	list, busy := waiting(s)
	for _, t := range busy {
		if actions := tried(s, t); actions != nil {
			return actions
		}
	}
	if len(list) == 0 || len(busy) > 0 || !s.Baselined() {
		return nil
	}
	for _, t := range list {
		if r := s.Proofs.Experiment(t.Result.Patch); r != nil {
			return conclude(s, t, *r)
		}
	}
	if s.TrialTime() <= 0 {
		return nil // the gates of other tasks can make room
	}
	alike := s.Alike()
	return begin(s, slices.MinFunc(list, func(a, b *run.Task) int {
		return cmp.Or(len(alike[a.Form()])-len(alike[b.Form()]), len(b.Trial.Doubt.Evidence)-len(a.Trial.Doubt.Evidence))
	}))
}

// waiting are the patches with tests that wait for an experiment, and those that are in one.
func waiting(s *run.State) (list, busy []*run.Task) {
	for t := range s.Tasks.In(run.TaskVerifying) {
		switch {
		case t.Trial == nil, s.OutOfBudget() && s.Spec.Spends(s.Judge(t)):
		case t.Trial.Run > 0:
			busy = append(busy, t)
		default:
			list = append(list, t)
		}
	}
	return list, busy
}

// Release decides about patches for which there is no time left for an experiment, once nothing else is at work that would make
// room. What was tried of another shard with the same changes of tests holds for them too. Of those that nothing speaks against
// half are released: their gates make room for others. In the end the rules decide.
func Release(s *run.State) (actions []run.Action) {
	list, _ := waiting(s)
	if len(list) == 0 || !s.Baselined() || s.TrialTime() > 0 || slices.ContainsFunc(slices.Collect(maps.Values(s.Queue)),
		func(w *run.Work) bool { return w.ID != run.FlakesTask && w.Outstanding() && !w.Waits() }) {
		return nil
	}
	alike, clean := s.Alike(), []*run.Task{}
	for _, t := range list {
		like := alike[t.Form()]
		weaker := slices.IndexFunc(like, func(l run.Like) bool { return l.Weaker })
		switch {
		case weaker >= 0:
			d := t.Trial.Doubt
			why := "its tests change as those of " + like[weaker].Task + ", which are weaker"
			d.Evidence = append([]string{why}, d.Evidence...)
			d.Kinds = append(slices.Clip(d.Kinds), "alike")
			actions = append(actions, run.HoldPatch(t, d))
		case len(like) > 0:
			actions = append(actions, accept(s, t)...)
		case len(t.Trial.Doubt.Evidence) == 0:
			clean = append(clean, t)
		}
	}
	if len(actions) > 0 {
		return actions
	}
	for _, t := range clean[:(len(clean)+1)/2] {
		actions = append(actions, accept(s, t)...)
	}
	if len(clean) > 0 {
		return actions
	}
	for _, t := range list {
		actions = append(actions, unable(s, t, "experiments have taken their share of the time of the gates")...)
	}
	return actions
}

// untrusted is a task that waits in the queue because of an experiment of a worker that is in quarantine since; nil for none.
func untrusted(s *run.State) *run.Task {
	if len(s.Quarantines) == 0 {
		return nil
	}
	for t := range s.Tasks.In(run.TaskAccepted) {
		if t.Tried != nil && t.Tried.By != "" && !t.AcceptedDespiteDoubt() && s.Proofs.Experiment(t.Result.Patch) == nil {
			return t
		}
	}
	return nil
}

// begin assigns the experiment.
func begin(s *run.State, t *run.Task) []run.Action {
	id, trial := t.Task.ID+run.RedSuffix, *t.Trial
	trial.Run = s.Works.Next(id)
	d := &run.Dispatch{
		Task: id, Attempt: trial.Run, Role: spec.RoleTester, Head: t.Result.Patch.Commit, Gates: []string{spec.WeakerGate},
		Since: t.Result.Patch.Base, InFirst: true,
	}
	data := run.TaskData{State: run.TaskVerifying, Trial: &trial, Dispatch: d}
	return []run.Action{run.Assign{Append: run.Append{Task: t.Task.ID, Data: data}, Dispatch: d}}
}

// tried decides when an experiment has ended. One that could not be made is tried again; in the end the rules decide.
func tried(s *run.State, t *run.Task) []run.Action {
	w := s.Works[t.Task.ID+run.RedSuffix]
	a := w.Attempts[t.Trial.Run]
	if a.Result == nil {
		return nil
	}
	for _, r := range a.Result.Receipts {
		if r.Gate == spec.WeakerGate && r.Tree == t.Result.Patch.Tree {
			return conclude(s, t, r)
		}
	}
	tries := 0
	for _, o := range w.Attempts {
		if o.Head == a.Head && o.Epoch == a.Epoch {
			tries++
		}
	}
	f := run.FaultOf(a.Result)
	if a.Result.Status == spec.StatusDone || tries >= recovery.MaxGateTries+s.Works.Foreign(w.ID) || recovery.Hopeless(f) {
		return unable(s, t, f.Message)
	}
	return begin(s, t)
}

// conclude releases a patch whose tests notice what they did, and holds another one: what the experiment has found comes first,
// and what it could not tell last.
func conclude(s *run.State, t *run.Task, r spec.Receipt) []run.Action {
	d := t.Trial.Doubt
	if t.Trial.Released(&r) || len(r.Signatures)+len(d.Evidence) == 0 {
		return accept(s, t)
	}
	d.Evidence = slices.Concat(r.Signatures, d.Evidence, strings.FieldsFunc(r.Tail, func(c rune) bool { return c == '\n' }))
	d.Kinds = slices.Clip(d.Kinds)
	if len(r.Signatures) > 0 {
		d.Kinds = append(d.Kinds, "weaker")
	}
	if r.Idle > 0 {
		d.Kinds = append(d.Kinds, run.NoticedNone)
	}
	return []run.Action{run.HoldPatch(t, d)}
}

// unable decides about a patch without an experiment, as the rules do.
func unable(s *run.State, t *run.Task, why string) []run.Action {
	d := t.Trial.Doubt
	if len(d.Evidence) == 0 {
		return accept(s, t)
	}
	d.Evidence = append(slices.Clip(d.Evidence), "no experiment: "+why)
	return []run.Action{run.HoldPatch(t, d)}
}
