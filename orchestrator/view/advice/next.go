// Package advice computes the next commands for a run. Its input is the state of the run; its output is commands with their
// purpose, the most useful first. It runs none.
package advice

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/orchestrator/act"
	"divisi/orchestrator/proof"
	"divisi/orchestrator/run"
	"divisi/subagents/wire"
)

// Way is a command that continues a run or uses its result, and its purpose.
type Way struct {
	Command string `json:"command"`
	Why     string `json:"why"`
	// For is ForLanded where the command uses what landed.
	For string `json:"for,omitempty"`
}

// ForLanded is what a way is for that uses what landed.
const ForLanded = "landed"

// program is how a command of this program begins.
const program = "divisi"

func way(why string, args ...string) Way {
	return Way{Command: program + " " + strings.Join(args, " "), Why: why}
}

// Next lists the steps of a person for a run that has ended, or that no process conducts, the most useful first.
func Next(s *run.State) []Way {
	id := s.Spec.Run
	report := way("the whole report", "show", id)
	switch {
	case !s.Status.Ended():
		return []Way{way("continue it", "resume", id), report}
	case s.Status == run.Done:
		return append(landed(s), report)
	case s.Status == run.Parked:
		return append(append(repair(s), landed(s)...), report)
	case s.Status == run.Stopped && proof.Unproven(&s.Agenda, &s.Proofs) && !s.StoppedByBudget():
		return append(append(setUp(s), landed(s)...), report,
			way("after reading the message: changes land without proof", "resume", id, "--allow-unverified"))
	case s.Status == run.Stopped:
		return append(append(restart(s), landed(s)...), report)
	}
	return append(landed(s), report)
}

// Live lists the steps of a person for a run that a process conducts.
func Live(s *run.State) (ways []Way) {
	id := s.Spec.Run
	switch {
	case s.Status.Ended():
		return Next(s)
	case s.Line != "":
	case s.Wait.For != "":
		ways = []Way{way("answer what it waits for", "decide", id), way("follow it", "watch", id)}
	default:
		ways = []Way{way("follow it", "watch", id)}
	}
	return append(ways, acts(s, act.Running, nil)...)
}

// acts are the acts that come next for a run at a standing, or for a task of it.
func acts(s *run.State, at act.Standing, t *run.Task) (ways []Way) {
	for _, e := range act.Offers(act.Command, s, at, t) {
		why, of := "", []string{s.Spec.Run}
		if e.Next != nil {
			why = e.Next(s, t)
		}
		if why == "" {
			continue
		}
		switch {
		case t == nil:
		case e.OfTask() == "task":
			of[0] += "/" + t.Task.ID
		default:
			of = append(of, t.Task.ID)
		}
		ways = append(ways, way(why, append([]string{e.Called}, of...)...))
	}
	return ways
}

// setUp proposes the setup of the gates. A project file is never changed, and then the proposal is only shown.
func setUp(s *run.State) []Way {
	in := []string{"init", "--repo", text.Shell(s.Spec.Repo)}
	if s.Spec.Detected {
		return []Way{way("have a setup and gates proposed and tried; commit them, and start a new run", in...)}
	}
	return []Way{way("see which setup and gates are proposed, for the project file; commit it, and start a new run",
		append(in, "--print")...)}
}

// restart continues a run that has stopped.
func restart(s *run.State) []Way {
	id := s.Spec.Run
	switch {
	case s.DayOver():
		return []Way{way("continue it on another day, or with more as budget_day", "resume", id)}
	case s.StoppedByBudget():
		return []Way{way("continue it with more"+s.Raised().Unit(), "resume", id, "--budget", s.Raised().Text())}
	case strings.Contains(s.Reason, run.ReasonPreflight):
		return []Way{way("when what the message names is fixed", "resume", id)}
	case strings.HasPrefix(s.Reason, run.ReasonWaits):
		return []Way{way("answer what it waits for", "decide", id), way("then continue it", "resume", id)}
	}
	return []Way{way("continue it", "resume", id)}
}

// landed uses the branch of a run, or publishes it.
func landed(s *run.State) (ways []Way) {
	if ways = acts(s, act.Of(s, false), nil); s.Ref != "" {
		repo, branch := text.Shell(s.Spec.Repo), strings.TrimPrefix(s.Ref, "refs/heads/")
		ways = []Way{
			way("take what landed into your branch", "merge", s.Spec.Run, "--repo", repo),
			{Command: fmt.Sprintf("git -C %s diff --stat %.12s %s", repo, s.Spec.Base, branch), Why: "what it changes"},
		}
		if s.Works[run.MasterTask] != nil { // the master's: the others have a file, or divisi each --save
			ways = append(ways, way("keep its plan as a file", "show", s.Spec.Run, "--output", "plan", ">", "plan.yaml"))
		}
	}
	for i := range ways {
		ways[i].For = ForLanded
	}
	return ways
}

// Unfetched are the ways of a run whose branch is on another machine only.
func Unfetched(id string, ways []Way) []Way {
	out := []Way{way("get its branch into the repository of this directory", "publish", id)}
	out[0].For = ForLanded
	for _, w := range ways {
		if strings.HasPrefix(w.Command, program) && !strings.HasPrefix(w.Command, program+" merge ") {
			out = append(out, w)
		}
	}
	return out
}

// Remember reviews notes that a run suggests for later ones.
func Remember(repo string, notes int) Way {
	return way("review "+text.Count(notes, "suggested note"), "memory", "proposals", "--repo", text.Shell(repo))
}

// maxRepairs bounds the tasks that are named one by one; unlisted begins the count of the others.
const (
	maxRepairs = 3
	unlisted   = ", also the "
)

// repair lists fixes for parked tasks: those that were tried, as the others only wait for them.
func repair(s *run.State) (ways []Way) {
	var tried, parked []*run.Task
	for t := range s.Tasks.All() {
		if t.State == run.TaskParked {
			if parked = append(parked, t); s.Works[t.Task.ID] != nil {
				tried = append(tried, t)
			}
		}
	}
	if len(tried) == 0 {
		tried = parked
	}
	if len(parked) == 0 {
		return replan(s)
	}
	// What a change set gave up with another task comes last: that one has the cause.
	slices.SortStableFunc(tried, func(a, b *run.Task) int { return cmp.Compare(givenUp(s, a), givenUp(s, b)) })
	if files := forgotten(s, parked); len(files) > 0 {
		ways = append(ways, way("add a task for "+text.Some(files, maxRepairs)+", tested with the patches that wait for it",
			"retry", s.Spec.Run, "--forgotten"))
	}
	for _, t := range tried[:min(len(tried), maxRepairs)] {
		ways = append(ways, repairOf(s, t)...)
	}
	if line := together(s, tried); line != "" {
		return append(ways, Way{Command: line, Why: "where the files are right only together: all of them, as one"})
	}
	if len(parked) == 1 || !slices.ContainsFunc(tried, func(t *run.Task) bool { return !stays(s, t) }) {
		return ways
	}
	why := fmt.Sprintf("try all %d parked tasks again", len(parked))
	if more := len(tried) - maxRepairs; more > 0 {
		why += fmt.Sprintf("%s%d more that are not listed", unlisted, more)
	}
	return append(ways, way(why, "retry", s.Spec.Run))
}

// stays reports whether no act but one on its patch changes how a task ends: a line of a terminal made its command, which would
// do the same again, and gates or a person have refused what that did.
func stays(s *run.State, t *run.Task) bool {
	return strings.HasPrefix(s.Spec.Roles[t.Task.Role].Description, spec.MadeBy) && patched(s, t)
}

// patched reports whether the newest attempt of a task has a patch.
func patched(s *run.State, t *run.Task) bool {
	a := s.Works[t.Task.ID].Newest()
	return a != nil && a.Result != nil && a.Result.Patch != nil
}

// asOne is the flag of such a line that has all files tested as one.
const asOne = "--together"

// together is the line of a terminal that made the role of parked tasks, with all files as one change set; "" where it was that
// already, or where gates have refused no shard of it.
func together(s *run.State, tried []*run.Task) string {
	for _, t := range tried {
		line := strings.TrimPrefix(s.Spec.Roles[t.Task.Role].Description, spec.MadeBy)
		begin, _, found := strings.Cut(line, " ")
		if n := len(t.Faults); !found || begin != program || n == 0 || t.Faults[n-1].Fault.Class != wire.FaultGate ||
			len(s.Tasks.Order) < 2 || strings.Contains(line, asOne) || !stays(s, t) {
			continue
		}
		flags, command, _ := strings.Cut(line, " -- ")
		words := []string{flags, asOne, "--repo", text.Shell(s.Spec.Repo)}
		if command != "" {
			words = append(words, "--", command)
		}
		return strings.Join(words, " ")
	}
	return ""
}

// forgotten are the files that parked tasks fail in and that no task may change.
func forgotten(s *run.State, parked []*run.Task) (files []string) {
	for _, t := range parked {
		if t.Forgotten != nil {
			files = append(files, t.Forgotten.Addable(s.Spec.Project.Protected)...)
		}
	}
	slices.Sort(files)
	return slices.Compact(files)
}

// givenUp is 1 where a task is parked because of another one of its change set, else 0.
func givenUp(s *run.State, t *run.Task) int {
	if set := s.Tasks.Set(t); set == nil || set.Lost == nil || set.Lost == t {
		return 0
	}
	return 1
}

// repairOf lists fixes for one parked task.
func repairOf(s *run.State, t *run.Task) (ways []Way) {
	id, name := s.Spec.Run, t.Task.ID
	a := s.Works[name].Newest()
	patch := patched(s, t)
	if a != nil {
		ways = append(ways, way("why it failed, with the output of its gates", "log", id+"/"+name))
	}
	if patch {
		ways = append(ways, way("what its last attempt changed", "diff", id+"/"+name))
	}
	switch role := s.Spec.RoleOn(t, t.Choice.At); {
	case a == nil:
		ways = append(ways, way("try it again", "retry", id, name))
	case role.Usage != "" && a.Result != nil && run.FaultOf(a.Result).Class == wire.FaultCommand:
		ways = append(ways, way("when what it names is mended: a key, a model, PATH", "retry", id, name))
	case a.Result != nil && run.FaultOf(a.Result).Class == wire.FaultTime:
		ways = append(ways, way("when its role file gives it more time: limits.time", "retry", id, name))
	case t.Undecided() != nil && t.Undecided().Unread != nil:
		ways = append(ways, way("decide about its unread files, or add a gate", "retry", id, name, "--on-doubt", run.OnDoubtAsk),
			way("land it unverified", "retry", id, name, "--allow-unread"))
	case t.Refused():
		ways = append(ways, way("try it again, and take what no person is asked about", "retry", id, name, "--on-doubt",
			run.OnDoubtAccept))
	case stays(s, t):
	case role.Executor == spec.ExecutorModel, role.Usage != "":
		ways = append(ways, way("try again with a better brief", "retry", id, name, "--brief", `"BRIEF"`))
	default:
		ways = append(ways, way("try again with another role", "retry", id, name, "--role", "ROLE"),
			way("when its role file or its program is mended", "retry", id, name))
	}
	if patch {
		ways = append(ways, way("fix it by hand, then submit it", "take", id+"/"+name, "DIR"))
	}
	return append(ways, acts(s, act.Ended, t)...)
}

// For is the next step of a person for a task that has brought nothing.
func For(s *run.State, t *run.Task) Way {
	id := s.Spec.Run
	switch {
	case t.State == run.TaskHeld:
		return way("decide about its patch", "decide", id)
	case t.State == run.TaskParked && len(forgotten(s, []*run.Task{t})) > 0:
		return way("add a task for the files that it needs", "retry", id, t.Task.ID, "--forgotten")
	case t.State == run.TaskParked && stays(s, t):
		return way("why it failed, with the output of its gates", "log", id+"/"+t.Task.ID)
	case t.State == run.TaskParked, t.State == run.TaskCancelled:
		return way("try it again", "retry", id, t.Task.ID)
	}
	return way("continue the run", "resume", id)
}

// replan lists fixes for a goal that led to no change.
func replan(s *run.State) []Way {
	if s.Spec.Plan != nil || s.Head != s.Spec.Base || s.Works[run.MasterTask] == nil {
		return nil
	}
	return []Way{
		way("what the master read and answered", "debug context", s.Spec.Run+"/"+run.MasterTask),
		way("begin again with a clearer goal", "run", `"GOAL"`, "--repo", text.Shell(s.Spec.Repo)),
	}
}

// maxWays bounds the ways that a person is shown at once.
const maxWays = 3

// All is the command that lists all ways on from a run.
func All(run string) string { return way("", "show", run).Command }

// Shortlist returns the most useful of some ways, as Next lists them: the first one, how the run continues, and how what landed
// is used. The whole report, which has them all, gives way to the others.
func Shortlist(ways []Way) []Way {
	if len(ways) <= maxWays {
		return ways
	}
	again := 0 // the last one is about all parked tasks
	for i, w := range ways {
		if slices.Contains([]string{"retry", "resume", "each"}, strings.Fields(w.Command + " - -")[1]) {
			again = i
		}
	}
	rank := func(i int) int {
		switch command := ways[i].Command; {
		case i == 0:
			return 0
		case i == again:
			return 1
		case strings.HasPrefix(command, program+" merge "):
			return 2
		case strings.HasPrefix(command, program+" show "):
			return 4
		}
		return 3
	}
	at := make([]int, len(ways))
	for i := range at {
		at[i] = i
	}
	slices.SortStableFunc(at, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	out := make([]Way, maxWays)
	for i := range out {
		out[i] = ways[at[i]]
		out[i].Why, _, _ = strings.Cut(out[i].Why, unlisted)
	}
	return out
}
