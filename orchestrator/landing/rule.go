package landing

import (
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/orchestrator/acceptance"
	"divisi/orchestrator/run"
	"divisi/orchestrator/schedule"
	"divisi/subagents/wire"
)

// Merge has the candidates merged onto the integration head; Then proposes what follows.
type Merge struct {
	run.Proposal

	Candidates []Candidate
	Then       func(Chain) []run.Action
}

// Land takes the proven patches as one batch: those that conflict go back, the others are tested together, unless their tree is
// proven already.
func Land(s *run.State) []run.Action {
	if s.Batch != nil {
		return nil
	}
	candidates := proven(s)
	if len(candidates) == 0 {
		return nil
	}
	return []run.Action{Merge{Candidates: candidates, Then: func(c Chain) []run.Action { return merged(s, c) }}}
}

// proven lists the patches that wait, in plan order, at most the batch limit.
func proven(s *run.State) []Candidate {
	var out []Candidate
	for t := range s.In(run.TaskProven) {
		if len(out) == s.BatchLimit {
			break
		}
		role := s.Spec.Roles[t.Task.Role]
		role = run.WithExecutor(role, t.Executor)
		model := ""
		if role.Executor == spec.ExecutorModel {
			model = s.Spec.Project.ModelName(role.Model)
		}
		out = append(out, Candidate{
			Run: s.Spec.Run, Task: t.Task.ID, Title: t.Task.Title, Role: role.Name, Model: model,
			Attempt: t.Attempt, Commit: t.Result.Patch.Commit, Unverified: acceptance.Unverified(s),
		})
	}
	return out
}

// merged sends back what conflicts and tests the chain. A patch that conflicts only with others of its batch waits: regenerated
// now, it would start from the old head and conflict once more.
func merged(s *run.State, chain Chain) []run.Action {
	var actions []run.Action
	for _, k := range chain.Conflicts {
		if k.Waits {
			continue
		}
		actions = append(actions, schedule.Failed(s, s.Tasks[k.Task], spec.Fault{
			Class:   wire.FaultConflict,
			Message: "it conflicts with what landed before it in " + strings.Join(k.Paths, ", "),
			Detail:  k.Message,
		})...)
	}
	if len(chain.Merged) == 0 {
		return actions
	}
	d := run.LandingData{Batch: s.Batches + 1, State: run.LandingTesting, Old: s.Head, Head: chain.Head}
	for _, m := range chain.Merged {
		p := s.Tasks[m.Task].Result.Patch
		d.Tasks = append(d.Tasks, run.Landed{
			Task: m.Task, Attempt: m.Attempt, Commit: m.Landed, Added: p.Added, Deleted: p.Deleted, Files: len(p.Files),
		})
	}
	if wanted := gates(s, d.Tasks); s.IsProven(chain.Tree, wanted) {
		d.Receipts = s.Receipts(chain.Tree, wanted)
		return append(actions, move(s, d)...)
	}
	return append(actions, test(s, d))
}

// test assigns the batch's gates.
func test(s *run.State, d run.LandingData) run.Action {
	next := 1
	if w := s.Works[run.BatchTask]; w != nil {
		next = w.Last + 1
	}
	d.State, d.Receipts = run.LandingTesting, nil
	d.Dispatch = &run.Dispatch{
		Task: run.BatchTask, Attempt: next, Role: spec.RoleTester, Head: d.Head, Gates: gates(s, d.Tasks),
	}
	return run.Assign{Append: run.Append{Data: d}, Dispatch: d.Dispatch}
}

// move advances the integration branch: first the event, which is the truth, then the ref, which follows it.
func move(s *run.State, d run.LandingData) []run.Action {
	d.State, d.Unverified = run.LandingLanded, acceptance.Unverified(s)
	return []run.Action{run.Append{Data: d}, run.SyncHead{}}
}

// Tested returns the result of the batch under test; nil while it is outstanding, or when no batch is under test.
func Tested(s *run.State) *spec.Result {
	if s.Batch == nil {
		return nil
	}
	if a := s.Works[run.BatchTask].Attempts[s.Batch.Attempt]; a != nil {
		return a.Result
	}
	return nil
}

// Settle moves the branch when the batch is green on its tree. A red batch runs once more, because it may be a flake; then the
// batch is split: its tasks are proven again in smaller batches, down to the one that broke it, which goes back with the error.
func Settle(s *run.State, tree string) []run.Action {
	b, result := s.Batch, Tested(s)
	if result == nil {
		return nil
	}
	r := *result
	same := acceptance.ProvedOn(tree, r.Receipts)
	if !same {
		r.Receipts = nil // they prove nothing about the commits that would land: as if the gates had not run
	}
	d := run.LandingData{Batch: b.Number, Old: b.Old, Head: b.Head, Tasks: b.Tasks, Receipts: r.Receipts}
	if same && r.Status == spec.StatusDone {
		return move(s, d)
	}
	tries := 2
	if len(r.Receipts) == 0 {
		tries = schedule.MaxGateTries + 1
	}
	if b.Tries < tries {
		d.State = run.LandingRed
		return []run.Action{run.Append{Data: d}, test(s, d)}
	}
	return split(s, d, r)
}

func split(s *run.State, d run.LandingData, r spec.Result) []run.Action {
	d.State = run.LandingSplit
	actions := []run.Action{run.Append{Data: d}}
	if len(d.Tasks) > 1 {
		return actions
	}
	f := run.FaultOf(&r)
	if len(r.Receipts) > 0 {
		f.Signatures = acceptance.NewSignatures(r.Receipts, s.Baseline)
		f.Message = "red together with what landed before it: " + f.Message
	}
	return append(actions, schedule.Failed(s, s.Tasks[d.Tasks[0].Task], f)...)
}

// gates is the union of what the tasks ask for.
func gates(s *run.State, tasks []run.Landed) []string {
	var names []string
	for _, l := range tasks {
		t := s.Tasks[l.Task]
		if len(t.Task.Gates) == 0 {
			return s.GateNames()
		}
		names = append(names, t.Task.Gates...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}
