package command

import (
	"strconv"
	"strings"

	"divisi/internal/spec"
	"divisi/subagents/wire"
)

// Input is the standard input of a role's command, as one JSON object:
//
//	{"task": {...}, "attempt": 2, "files": ["a.go"], "constraints": ["..."], "decision_record": "...", "goal": "...",
//	 "inputs": [{"task": "survey", "role": "reader", "handoff": {"summary": "..."}}],
//	 "prior": [{"attempt": 1, "fault": {"class": "gate", "message": "...", "detail": "..."}, "diff": "..."}],
//	 "message": "This task was transferred to you by ..."}
//
// The task is as the plan has it, without its command and limits of turns and tokens.
// The command works in the current directory, a clean tree of the integration head. When it exits with 0, what it left there
// is its patch. Lists are never null.
type Input struct {
	Task           spec.Task    `json:"task"`
	Attempt        int          `json:"attempt"`
	Files          []string     `json:"files"`
	Constraints    []string     `json:"constraints"`
	DecisionRecord string       `json:"decision_record"`
	Goal           string       `json:"goal"`
	Inputs         []wire.Input `json:"inputs"`
	Prior          []wire.Prior `json:"prior"`
	// Message comes from the agent that transferred the task; "" where none did.
	Message string `json:"message"`
}

func inputOf(a *wire.Assignment) Input {
	return Input{
		Task: told(a.Task), Attempt: a.Attempt, Files: list(a.Task.Files), Constraints: list(a.Task.Constraints),
		DecisionRecord: a.DecisionRecord, Goal: a.Goal, Inputs: list(a.Inputs), Prior: list(a.Prior),
		Message: a.Message,
	}
}

// told is a task without what tells its command nothing: the command itself, and limits that bind models alone.
func told(t spec.Task) spec.Task {
	t.Command, t.Limits = nil, spec.Limits{Time: t.Limits.Time}
	return t
}

func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

// TaskEnv is the task in a command's environment, without its id and attempt where that is for several tasks. Values cannot hold
// a zero byte; such a file name is left to stdin.
func TaskEnv(a *wire.Assignment, files []string) []string {
	env := []string{"DIVISI_RUN=" + a.Run, "DIVISI_ROLE=" + a.Role.Name, "DIVISI_FILES=" + strings.Join(files, "\n")}
	if a.Task.ID != "" {
		env = append(env, "DIVISI_TASK="+a.Task.ID, "DIVISI_ATTEMPT="+strconv.Itoa(a.Attempt))
	}
	for i, e := range env {
		env[i] = strings.ReplaceAll(e, "\x00", "")
	}
	return env
}
