package command

import (
	"context"
	"errors"
	"io"
	"time"

	"divisi/internal/machine"
	"divisi/internal/spec"
	"divisi/subagents/limit"
)

// together is the standard input of a command that runs once for several tasks: the Input that each of them alone would have,
// with all of their files, and the tasks in place of one task and its attempt.
type together struct {
	Tasks []spec.Task `json:"tasks"`
	Input

	Task    *struct{} `json:"task,omitempty"`
	Attempt *struct{} `json:"attempt,omitempty"`
}

// Together runs the command once for several tasks, whose files are those of the assignment's task, which has no id. It returns
// how long that took, and false where it failed: which of the tasks is at fault is not known then. An error is a
// cause of ctx, or a fault of the machine.
func (c *Executor) Together(ctx context.Context, tasks []spec.Task) (took time.Duration, good bool, err error) {
	ctx, cancel := c.Bounds.Deadline(ctx)
	defer cancel()
	runs, why, err := c.runs(ctx)
	if err != nil || why != "" {
		return 0, false, nil //nolint:nilerr // each of them alone has it as its result
	}
	given := together{Input: inputOf(c.Assignment)}
	for _, t := range tasks {
		given.Tasks = append(given.Tasks, told(t))
	}
	given.Files = list(runs[0].files)
	began := time.Now()
	out, err := c.start(ctx, runs[0], given, io.Discard, c.said)
	took = time.Since(began)
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, limit.ErrTime):
		return took, false, nil
	case cause != nil:
		return took, false, cause
	case machine.Of(err, c.Dir) != nil:
		return took, false, machine.Of(err, c.Dir)
	}
	return took, err == nil && out.Success(), nil
}

// Made is the result of one of the tasks that a command ran for, of what it has changed.
func (c *Executor) Made(ctx context.Context, patch *spec.Patch) (spec.Result, error) {
	return c.made(ctx, patch, "")
}
