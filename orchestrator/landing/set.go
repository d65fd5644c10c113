package landing

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/recovery"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// ParkSets parks the tasks of a change set when one of them was given up. An agent that is at work ends before, and what is asked
// about the patch of one is answered before. The task that was given up has the cause.
func ParkSets(s *run.State) []run.Action {
	var actions []run.Action
	for t := range s.Tasks.Open() {
		set := s.Tasks.Set(t)
		if set == nil || set.Lost == nil || !slices.Contains(parkable, t.State) || slices.ContainsFunc(set.Members, asked) {
			continue
		}
		actions = append(actions, recovery.Park(s, t, fmt.Sprintf("its change set %s is given up with %s, which is %s",
			set.Name, set.Lost.Task.ID, set.Lost.State), nil)...)
	}
	return actions
}

// asked reports whether the patch of a task waits for a decision.
func asked(t *run.Task) bool { d := t.Doubt(); return d != nil && !d.Review }

// parkable are the states that a task of a given up change set is parked from.
var parkable = []run.TaskState{run.TaskPending, run.TaskHeld, run.TaskAccepted}

// review holds the patches of a complete change set that a person has yet to see.
func review(s *run.State, set *run.ChangeSet) (actions []run.Action) {
	for _, t := range set.Members {
		if s.Spec.ToReview(t) && !t.Ended() {
			actions = append(actions, run.Review(t))
		}
	}
	return actions
}

// landSet merges a change set whose tasks have all handed in their results. One that changes nothing is done.
func landSet(s *run.State, onto string, set *run.ChangeSet) []run.Action {
	m := mergeOf(s, onto, set, nil)
	if len(m.Candidates) == 0 {
		var actions []run.Action
		for _, t := range set.Members {
			if !t.Ended() { // a kill came between two of these events
				actions = append(actions, run.SetTask(t.Task.ID, run.TaskData{State: run.TaskDone}))
			}
		}
		return actions
	}
	m.Then = func(c Chain) []run.Action { return mergedSet(s, onto, set, c) }
	return []run.Action{m}
}

// mergeOf has the patches of a set merged, but for those of some tasks: first the ones that were made on the integration branch,
// then those that are built on the set as it was merged before, in the order in which their attempts began.
func mergeOf(s *run.State, onto string, set *run.ChangeSet, without map[string]bool) Merge {
	type patch struct {
		Candidate

		began uint64
	}
	var patches []patch
	for _, t := range set.Members {
		for _, k := range t.Patches() {
			c := candidate(s, t)
			p := patch{Candidate: c}
			p.Attempt, p.Commit = k.Attempt, k.Patch.Commit
			if k.OnSet {
				p.Base, p.began = k.Patch.Base, s.Works[t.Task.ID].Attempts[k.Attempt].Pos
			}
			if !without[t.Task.ID] {
				patches = append(patches, p)
			}
		}
	}
	slices.SortStableFunc(patches, func(a, b patch) int { return cmp.Compare(a.began, b.began) })
	m := Merge{Head: s.Head, Onto: onto, Set: set.Name, Each: s.Spec.Project.Commits == spec.CommitsEach}
	for _, p := range patches {
		m.Candidates = append(m.Candidates, p.Candidate)
	}
	return m
}

// mergedSet has a merged set tested. Tasks whose patches conflict have another attempt, on the others' changes. Conflicts with a
// batch under test count when that has landed.
func mergedSet(s *run.State, onto string, set *run.ChangeSet, chain Chain) []run.Action {
	in := factsOf(s)
	var actions []run.Action
	for _, k := range chain.Conflicts {
		if onto != s.Head {
			return nil
		}
		actions = append(actions, onSet(s, in.tasks.ByID[k.Task], spec.Fault{
			Class: wire.FaultConflict, Message: "it conflicts with what landed before it, or with its change set, in " +
				strings.Join(k.Paths, ", "), Detail: k.Message,
		}, chain.Head, false)...)
	}
	if len(actions) > 0 {
		return actions
	}
	d := run.LandingData{Batch: in.batches.Count + 1, Old: onto, Head: chain.Head, Tree: chain.Tree, Set: set.Name}
	commits := map[string]string{}
	for _, m := range chain.Merged {
		commits[m.Task] = m.Landed
	}
	for _, t := range set.Members {
		d.Tasks = append(d.Tasks, landed(s, t, commits[t.Task.ID]))
	}
	return proveOn(s, d)
}

// landed is a task's part of a set's commit.
func landed(s *run.State, t *run.Task, commit string) run.Landed {
	l := run.Landed{
		Task: t.Task.ID, Attempt: t.Attempt, Commit: commit, Files: len(t.Changes()),
		Unverified: proof.UnverifiedPatch(s, t),
	}
	if t.Dropped.Attempt == t.Attempt {
		l.Unverified, l.Better = cmp.Or(l.Unverified, t.Dropped.Unverified), t.Dropped.Better
	}
	for _, k := range t.Patches() {
		l.Added, l.Deleted = l.Added+k.Patch.Added, l.Deleted+k.Patch.Deleted
	}
	return l
}

// onSet gives a task another attempt, on the merged set; kept reports that the set holds what the task has changed.
func onSet(s *run.State, t *run.Task, f spec.Fault, head string, kept bool) []run.Action {
	actions := recovery.Failed(s, t, f)
	for i, action := range actions {
		if a, ok := action.(run.Append); ok {
			if d, ok := a.Data.(run.TaskData); ok && d.State == run.TaskPending {
				d.Head, d.Kept = head, kept
				actions[i] = run.SetTask(t.Task.ID, d)
			}
		}
	}
	return actions
}

// redSet sends the failures of a set to the tasks that own the files which they name. A failure in a file that no task of the set
// may change parks the set.
func redSet(s *run.State, d run.LandingData, failed []run.Failure, receipts []spec.Receipt) []run.Action {
	in := factsOf(s)
	set := in.tasks.Set(in.tasks.ByID[d.Tasks[0].Task])
	of, missing := blame(in, set, receipts)
	if missing != nil {
		return park(s, set, missing, of, d.Head, failed[0].Fault)
	}
	blamed := slices.DeleteFunc(slices.Clone(set.Members), func(t *run.Task) bool {
		return of[t.Task.ID] == nil || recovery.Repeats(s, t) && shared(s, set, of, t)
	})
	again := func(t *run.Task) bool { return !recovery.Repeats(s, t) }
	lacks := forgotten(in.tasks, changesOf(set), failures(in.proofs, receipts))
	if lacks != nil && !slices.ContainsFunc(blamed, again) {
		return park(s, set, lacks, nil, d.Head, failed[0].Fault)
	}
	without := map[string]bool{}
	for _, t := range blamed {
		without[t.Task.ID] = s.Spec.Made(t, s.Works).Executor == spec.ExecutorCommand && t.Choice.At >= len(in.spec.Roles[t.Task.Role].Chain)
	}
	then := func(head string) (actions []run.Action) {
		for _, t := range blamed {
			f := failed[0].Fault
			f.Signatures = of[t.Task.ID]
			f.Message = failsIn(f.Signatures)
			actions = append(actions, onSet(s, t, f, head, !without[t.Task.ID])...)
		}
		return actions
	}
	if !slices.ContainsFunc(blamed, func(t *run.Task) bool { return without[t.Task.ID] }) {
		return then(d.Head)
	}
	// A command changes the original again and not its own result.
	m := mergeOf(s, s.Head, set, without)
	m.Then = func(c Chain) []run.Action {
		for _, k := range c.Conflicts { // it was built on what a command begins without
			without[k.Task] = true
		}
		return then(c.Head)
	}
	return []run.Action{m}
}

// shared reports whether all that a task is blamed for is also blamed on tasks that would do something else in another attempt.
func shared(s *run.State, set *run.ChangeSet, of map[string][]string, t *run.Task) bool {
	return !slices.ContainsFunc(of[t.Task.ID], func(signature string) bool {
		return !slices.ContainsFunc(set.Members, func(o *run.Task) bool {
			return !recovery.Repeats(s, o) && slices.Contains(of[o.Task.ID], signature)
		})
	})
}

// park parks a set for what is missing in it. Its first task has the cause; those that other failures lead to have these, and
// what the others handed in is kept.
func park(
	s *run.State, set *run.ChangeSet, lacks *run.Forgotten, of map[string][]string, head string, f spec.Fault,
) (actions []run.Action) {
	reason := fmt.Sprintf("the change set %s fails in %s, which no task of it may change: %s. %s", set.Name, placesOf(lacks),
		lineOf(&lacks.Findings[0]), adds(&s.Spec, lacks,
			fmt.Sprintf("Dispatch a task with change_set %s and these files: the set is then tested again", set.Name)))
	if lacks.Only = len(of) == 0; lacks.Only {
		lacks.Head = head
	}
	reason = recovery.WithOutput(reason, recovery.OutputFile(s, f.Output))
	d := run.TaskData{State: run.TaskParked, Reason: reason, Forgotten: lacks}
	for _, t := range set.Members {
		if f.Signatures = of[t.Task.ID]; f.Signatures != nil {
			f.Message = failsIn(f.Signatures)
			own := f
			d.Fault = &own
		}
		actions = append(actions, run.SetTask(t.Task.ID, d))
		d = run.TaskData{State: run.TaskParked, Reason: fmt.Sprintf("its change set %s is given up with %s", set.Name,
			set.Members[0].Task.ID)}
	}
	return actions
}

// failsIn tells a task of a change set what fails in it.
func failsIn(signatures []string) string {
	return "with all tasks of its change set merged, the gates fail in what this task owns: " + text.Some(signatures, maxMet)
}

// changesOf are the files that the tasks of a set change.
func changesOf(set *run.ChangeSet) (files []string) {
	for _, t := range set.Members {
		files = append(files, t.Changes()...)
	}
	return files
}

// blame has for each task of a set the failures that lead to it, and those that lead to none; nil where each leads to one. What
// does not build belongs to the tasks that may change the file; a test or a whole package also to those that changed what it
// imports. A failure that names no path belongs to all.
func blame(in facts, set *run.ChangeSet, receipts []spec.Receipt) (of map[string][]string, missing *run.Forgotten) {
	lost := &run.Forgotten{}
	of = map[string][]string{}
	own := changed{}
	for _, t := range set.Members {
		own.add(t.Task.ID, t.Task.Files)
		for _, k := range t.Patches() {
			own.add(t.Task.ID, k.Patch.Files)
		}
	}
	for _, r := range receipts {
		for _, signature := range blamed(in.proofs, r) {
			f := failureOf(r, signature)
			var who []string
			elsewhere := f.found.File != "" && len(f.places(nil)) > 0 && len(own[f.found.File]) == 0
			switch places := leaves(f.paths); {
			case elsewhere:
				who = matching(set.Members, []string{f.found.File})
			case len(places) == 0:
				who = idsOf(set.Members)
			case ofPackage(signature):
				who = own.owners(f)
			default:
				who = own.of(places)
			}
			if len(who) == 0 && !elsewhere {
				who = matching(set.Members, f.paths)
			}
			if len(who) == 0 {
				lost.Findings = append(lost.Findings, f.missing()...)
			}
			for _, id := range who {
				of[id] = append(of[id], r.Gate+": "+signature)
			}
		}
	}
	return of, bounded(lost)
}

// blamed are the failures of a receipt that tasks are blamed for: those that follow from no other one, where there are such.
func blamed(proofs *run.Proofs, r spec.Receipt) []string {
	signatures := causes(proofs, r)
	switch {
	case len(signatures) == 0: // it cannot be compared, and names nothing
		return []string{"red"}
	case slices.ContainsFunc(signatures, func(s string) bool { return !follows(s) }):
		return slices.DeleteFunc(signatures, follows)
	}
	return signatures
}

// ofPackage reports whether a signature is that of a test or of a whole package: what the package imports may be the cause.
func ofPackage(signature string) bool {
	return follows(signature) || slices.ContainsFunc([]string{"test: ", "package: ", "FAIL "}, func(p string) bool {
		return strings.HasPrefix(signature, p)
	})
}

// follows reports whether a signature is that of a package that does not build. Go has it for the package with the error, whose
// file another signature names, and for each one that imports it.
func follows(signature string) bool {
	return strings.HasPrefix(signature, "build: package ") ||
		strings.HasPrefix(signature, "FAIL ") && strings.HasSuffix(signature, "[build failed]")
}

// leaves are the paths that lie above no other one.
func leaves(paths []string) []string {
	return slices.DeleteFunc(slices.Clone(paths), func(p string) bool {
		return slices.ContainsFunc(paths, func(o string) bool { return p == "." && o != "." || strings.HasPrefix(o, p+"/") })
	})
}

// matching are the tasks with a glob that one of the paths matches.
func matching(members []*run.Task, paths []string) (out []string) {
	for _, t := range members {
		if slices.ContainsFunc(paths, func(p string) bool { return spec.MatchAny(t.Task.Files, p) }) {
			out = append(out, t.Task.ID)
		}
	}
	return out
}

func idsOf(tasks []*run.Task) (out []string) {
	for _, t := range tasks {
		out = append(out, t.Task.ID)
	}
	return out
}
