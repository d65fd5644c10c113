package phase

import (
	"fmt"
	"slices"
	"strings"

	"divisi/internal/text"
	"divisi/orchestrator/run"
)

// less tells, one sentence each, what the run did less than it was asked for although no task was given up: tasks without an
// effect, files that plans left out or agents were refused, batches that are red on a worker and were trusted, and what the
// user's own shell does not prove.
func less(s *run.State) []string {
	return slices.Concat(leftOut(&s.Agenda), ineffective(&s.Agenda, &s.Requests), refusals(&s.Tasks, &s.Requests),
		trusted(&s.Batches), unlikeShell(s.Twin))
}

// unlikeShell names what setup and gates do otherwise outside the sandbox.
func unlikeShell(t *run.Twin) (out []string) {
	if t == nil || len(t.Differences) == 0 {
		return nil
	}
	for _, d := range t.Differences {
		out = append(out, d.What)
	}
	return []string{"proven in the sandbox, and not in your own shell: " + strings.Join(text.Few(out, maxNamed), "; ")}
}

// leftOut names the files that templates match and may not change, and that no task has.
func leftOut(agenda *run.Agenda) (out []string) {
	given := map[string]bool{}
	for _, t := range agenda.Tasks.ByID {
		for _, file := range t.Task.Files {
			given[file] = true
		}
	}
	for _, p := range agenda.Plans.All {
		for _, l := range p.LeftOut {
			files := slices.DeleteFunc(slices.Clone(l.Files), func(file string) bool { return given[file] })
			if len(files) > 0 {
				out = append(out, fmt.Sprintf("%s left out %s: %s",
					l.Template, text.Count(len(files)+l.More, l.Kind), text.Some(files, maxNamed)))
			}
		}
	}
	return out
}

// ineffective names the planned tasks that were to change files and changed none, and templates without a shard that did. What
// agents had others do is their effect. That a shard has nothing to change is ordinary.
func ineffective(agenda *run.Agenda, requests *run.Requests) []string {
	shards := map[string]bool{}
	var names []string
	for t := range agenda.Tasks.All() {
		role := agenda.Spec.Roles[t.Task.Role]
		of := t.Task.ShardOf
		handed := slices.ContainsFunc(requests.Of[t.Task.ID], func(q *run.Request) bool { return q.Child != "" })
		switch effect := t.State != run.TaskDone || !role.Writes || handed; {
		case t.IsTemplate():
		case of != "":
			shards[of] = shards[of] || effect
		case !effect && t.Parent == "":
			names = append(names, t.Task.ID)
		}
	}
	for t := range agenda.Tasks.All() {
		of := t.Task.ShardOf
		if effect, ok := shards[of]; ok && !effect {
			names = append(names, of)
		}
		delete(shards, of)
	}
	if len(names) == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s changed no file: %s", text.Count(len(names), "task"), text.Some(names, maxNamed))}
}

// refusals names what agents asked to write, did not get, and no task has done since.
func refusals(tasks *run.Tasks, requests *run.Requests) (out []string) {
	for _, q := range requests.Refused {
		if t := tasks.ByID[q.AskedBy()]; t != nil && !t.GivenUp() {
			out = append(out, text.Clip(text.OneLine(fmt.Sprintf("%s was refused to write %s: %s",
				t.Task.ID, strings.Join(text.Few(q.Paths, maxNamed), ", "), q.Answer.Refused)), text.MaxLine))
		}
	}
	return text.Few(out, maxNamed)
}

// trusted names the batches that failed on another worker, and that were trusted.
func trusted(batches *run.Batches) (out []string) {
	for _, l := range batches.Seconds() {
		if l.Second.State == run.SecondTrusted {
			out = append(out, fmt.Sprintf("batch %d is red on worker %s, and was accepted", l.Batch, l.Second.Worker))
		}
	}
	return text.Few(out, maxNamed)
}
