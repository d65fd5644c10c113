package mcpserver

import (
	"divisi/internal/spec"
	"divisi/orchestrator/act"
	"divisi/orchestrator/view"
)

// agents bound the argument that names a coding agent.
var agents = map[string][]string{"agent": spec.CodingAgents()}

// addReads adds the tools that change nothing.
func (s *Server) addReads() {
	add(s, tool{name: "runs", most: mostRuns, does: "List the runs, the newest first: state, goal, progress and waits."}, s.runs)
	add(s, tool{name: "report", does: "Report on one run: its state and the reason, how many tasks are in each state, gates " +
		"compared with the base commit, tokens, open decisions, and next steps."}, s.show)
	add(s, tool{name: "tasks", most: mostTasks, oneOf: map[string][]string{"state": view.TaskWords}, does: "List the tasks " +
		"of a run, by page: state, reason, write set, attempts, changes."}, s.tasks)
	add(s, tool{name: "diff", most: mostBytes, does: "Show the patch of an attempt of a task, landed or not, by parts."}, s.diff)
	add(s, tool{name: "log", most: mostBytes, does: "Show the gate output for an attempt of a task, by parts."}, s.log)
	add(s, tool{name: "decisions", most: mostOpen, does: "List the open decisions of a run with options, evidence, patches and " +
		"plan. What blocks most tasks comes first."}, s.decisions)
	add(s, tool{name: "wait", does: "Wait until a run needs an answer, has stopped or ended, or has no process; at most some " +
		"seconds, with notices of progress. Call it again with the position that it returned. Stop waiting when why is ended, " +
		"stopped or not_running: nothing changes then until a person or a tool continues the run."}, s.wait)
	add(s, tool{name: "roles", most: mostRoles, does: "List the roles that a plan can name on this repository."}, s.roles)
	add(s, tool{name: "preview", most: mostPlanned, oneOf: agents, does: "Expand a plan file of the repository as a run would, " +
		"and start nothing: tasks, write sets, overlaps, tokens, gates, refusals of start, and whether the repository is " +
		"trusted. Commands of shard rules run confined. " + whatIsAPlan}, s.preview)
}

// addActs adds the tools that change something.
func (s *Server) addActs() {
	add(s, tool{name: "start", acts: true, oneOf: agents, does: "Start a run on the repository, from a plan file or a goal. It " +
		"costs tokens if models take part, and outlives this server. What needs the person's yes (an untrusted repository, " +
		"roles with secrets, a coding agent's key) is asked by a form of the client, or refused with the command that " +
		"agrees."}, s.start)
	add(s, tool{name: "decide", acts: true, loses: true, does: "Answer an open decision, for the person who started this " +
		"server. Check its evidence and patches first: an accepted patch continues to the gates."}, s.decide)
	for _, e := range act.All() {
		if e.Doors&act.Tools != 0 && s.tools[e.Name] == nil {
			s.addAct(e)
		}
	}
}
