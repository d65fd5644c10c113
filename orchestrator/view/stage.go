package view

import (
	"path"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/internal/spec"
	"divisi/orchestrator/run"
)

// Stages of an agent that its progress does not name.
const (
	stageStarts = "starting"
	stageModel  = "waiting for the model"
	stageAnswer = "receiving an answer"
	stageOthers = "waiting for other agents"
	stagePerson = "waiting for an answer"
)

// verbs are the activities of tools that have an object; agents are counted by the verb alone.
var verbs = map[string]string{
	"reading": "reading files", "editing": "editing files", "writing": "writing files", "outlining": "reading files",
	"searching": "searching", "listing": "listing files", "looking": "listing files", "saving": "saving artifacts",
	"loading": "loading artifacts",
}

// word is a part of a command that is neither a flag nor a path, such as test in go test -json ./... .
var word = lazyregexp.New(`^[a-z][a-z0-9-]*$`)

// doing words the activity of an agent that does not wait for others.
func doing(s *run.State, a *run.Attempt, program string) string {
	switch {
	case a.Doing == "thinking", a.Doing == "" && a.Turns > 0:
		return stageModel
	case a.Doing == "writing", strings.HasPrefix(a.Doing, "calls "):
		return stageAnswer
	case a.Doing != "":
		return a.Doing
	case program != "" && s.Time.UnixMilli()-a.Began > stillStarts:
		return "running " + program
	}
	return stageStarts
}

// stillStarts is how long, in milliseconds, an attempt without progress is starting: longer ones of a group are with its command.
const stillStarts = 4000

// programOf is the program that executes a task's attempt; empty where a model or a tester does.
func programOf(s *run.State, id string) string {
	t := s.Tasks.ByID[id]
	if t == nil {
		return ""
	}
	role := s.Spec.RoleOn(t, t.Choice.At)
	if role.Executor != spec.ExecutorCommand {
		return ""
	}
	command := role.Command
	if len(t.Task.Command) > 0 {
		command = t.Task.Command
	}
	if len(command) == 0 {
		return "its command"
	}
	return path.Base(command[0])
}

// stageOf returns the stage of an agent in words that agents on other files share. program is that of a command.
func stageOf(doing, program string) string {
	verb, rest, _ := strings.Cut(doing, " ")
	switch {
	case doing == stageAnswer:
		return stageModel
	case strings.HasPrefix(doing, "waits for an answer"):
		return stagePerson
	case strings.HasPrefix(doing, "waits for "), strings.HasPrefix(doing, "asks for "):
		return stageOthers
	case verb == "waiting" || verb == "preparing" || doing == stageStarts:
		return clause(doing)
	case verb == "running":
		return "running " + commandOf(rest)
	case program != "": // a line of its output
		return "running " + program
	case verb == "gate":
		gate, _, _ := strings.Cut(rest, ":")
		return "gate " + gate
	case verbs[verb] != "":
		return verbs[verb]
	}
	return clause(doing)
}

// clause is a text up to what follows a colon.
func clause(s string) string {
	s, _, _ = strings.Cut(s, ":")
	return s
}

// commandOf is the program of a command line, with the verb that some have.
func commandOf(line string) string {
	words := strings.Fields(line)
	if len(words) == 0 {
		return "a command"
	}
	if words[0] == "the" { // the gates
		return "the gates"
	}
	program := path.Base(words[0])
	if len(words) > 1 && word.MatchString(words[1]) {
		program += " " + words[1]
	}
	return program
}
