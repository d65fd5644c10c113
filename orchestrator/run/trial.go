package run

import (
	"cmp"
	"strings"
	"time"

	"divisi/internal/spec"
)

// Trial is the experiment with the tests that a patch changes. The patch is held for a doubt unless they still notice what they
// did before.
type Trial struct {
	Doubt Doubt `json:"doubt"`
	// Files are those that the doubt is about, Run is that of the work <task>--red; 0 where it has not begun.
	Files []string `json:"files"`
	Run   int      `json:"run,omitempty"`
	// Fewer reports that tests assert less by the rules: that they notice nothing then releases nothing.
	Fewer bool `json:"fewer,omitempty"`
	// Form is how the patch changes tests, without names and values that stay: the same of two shards is the same.
	Form string `json:"form,omitempty"`
	// By is the worker that signed its receipt; "" while there is none, and where it was not made.
	By string `json:"-"`
}

// tried folds that a task is not in an experiment any more, or that it has another patch.
func (s *State) tried(t *Task, d TaskData) {
	switch {
	case d.State == TaskRunning && d.Dispatch != nil:
		t.Tried = nil
	case t.Trial != nil && d.Trial == nil && t.Result != nil && t.Result.Patch != nil:
		t.Tried = t.Trial
		if r := s.Proofs.Experiment(t.Result.Patch); r != nil {
			t.Tried.By = cmp.Or(r.Worker, "this machine")
		}
	}
}

// Experiment is the newest receipt of an experiment with the tests of a patch that counts; nil for none.
func (p *Proofs) Experiment(of *spec.Patch) *spec.Receipt {
	if good := p.good(of.Tree, spec.WeakerGate, of.Base); len(good) > 0 {
		return &good[len(good)-1]
	}
	for _, f := range p.Failed(of.Tree, []string{spec.WeakerGate}, of.Base) {
		return &f.Receipt
	}
	return nil
}

// Released reports whether a receipt releases the patch.
func (t *Trial) Released(r *spec.Receipt) bool {
	return r.Verdict != spec.VerdictFail && (r.Passed > 0 || !t.Fewer)
}

// Like is a task whose experiment tells of tests that change in the same way.
type Like struct {
	Task   string
	Weaker bool
}

// Form is what patches of a template have in common that change tests in the same way, and are suspicious of the same; "" for
// none.
func (t *Task) Form() string {
	trial := cmp.Or(t.Trial, t.Tried)
	if t.Task.ShardOf == "" || trial == nil || trial.Form == "" {
		return ""
	}
	return strings.Join(append([]string{t.Task.ShardOf, trial.Form}, trial.Doubt.Kinds...), "\n")
}

// Alike are the tasks with an experiment that counts and tells something, by their forms, in plan order.
func (s *State) Alike() map[string][]Like {
	alike := map[string][]Like{}
	for t := range s.Tasks.All() {
		form := t.Form()
		if form == "" || t.Tried == nil || t.Result == nil || t.Result.Patch == nil {
			continue
		}
		r := s.Proofs.Experiment(t.Result.Patch)
		if r != nil && (len(r.Signatures) > 0 || t.Tried.Released(r)) {
			alike[form] = append(alike[form], Like{t.Task.ID, len(r.Signatures) > 0})
		}
	}
	return alike
}

// Untried are the tasks whose newest patch changes tests with which no experiment was made that counts, in plan order, each with
// the reason.
func (s *State) Untried() (tasks []*Task, why map[string]string) {
	why = map[string]string{}
	alike := s.Alike()
	for t := range s.Tasks.All() {
		switch {
		case t.Tried == nil, t.Trial != nil, t.Result == nil, t.Result.Patch == nil, s.Proofs.Experiment(t.Result.Patch) != nil:
			continue
		case t.Tried.By != "":
			why[t.Task.ID] = "the experiment was of worker " + t.Tried.By + ", whose receipts do not count any more"
		case t.Tried.Run > 0:
			why[t.Task.ID] = "no experiment could be made"
		case len(alike[t.Form()]) > 0:
			why[t.Task.ID] = "another shard with the same changes of tests was tried"
		default:
			why[t.Task.ID] = "experiments had taken their share of the time of the gates"
		}
		tasks = append(tasks, t)
	}
	return tasks, why
}

// All experiments of a run may take one part in trialShare of the time that its gates have taken so far; the first fewTrials may
// take leastTrials together at any rate.
const (
	trialShare  = 4
	fewTrials   = 4
	leastTrials = 2 * time.Minute
)

// TrialTime is how long experiments may still take; none where it is not above 0, such as where there is no room for one that
// takes as long as those before on average.
func (s *State) TrialTime() time.Duration {
	var gates, trials time.Duration
	made := 0
	for _, w := range s.Works {
		for _, a := range w.Attempts {
			if a.Result == nil {
				continue
			}
			for _, r := range a.Result.Receipts {
				if r.Gate == spec.WeakerGate {
					trials += r.Duration
					made++
				} else {
					gates += r.Duration
				}
			}
		}
	}
	left := gates/trialShare - trials
	if made < fewTrials {
		left = max(left, leastTrials-trials)
	}
	if made > 0 && left < trials/time.Duration(made) {
		return min(left, 0)
	}
	return left
}
