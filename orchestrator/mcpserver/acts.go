package mcpserver

import (
	"context"

	"divisi/internal/usage"
	"divisi/orchestrator/dashboard"
)

// maxTasks bounds the tasks that one act names.
const maxTasks = 1000

// done is what becomes of an act.
type done struct {
	Outcome string `json:"outcome"`
	Started bool   `json:"started,omitempty" jsonschema:"A process was started for it, which goes on without this server."`
}

// act does something to a run for a client.
func (s *Server) act(ctx context.Context, by string, a dashboard.Act) (done, error) {
	if err := s.known(ctx, a.Run); err != nil {
		return done{}, err
	}
	if len(a.Tasks) > maxTasks {
		return done{}, usage.Errorf("%s takes at most %d tasks, not %d", a.Verb, maxTasks, len(a.Tasks))
	}
	for _, said := range []string{a.Text, a.Brief} {
		if err := within("the text", said, maxAnswerText); err != nil {
			return done{}, err
		}
	}
	a.By = by
	out, err := s.opts.Controller.Act(ctx, a)
	s.opts.Logger.Info().Err(err).Str("run", a.Run).Str("verb", a.Verb).Str("by", by).Msg("a client acted on a run")
	return done(out), err
}

// verb is a tool that does one thing to a run as a whole.
func (s *Server) verb(verb string) func(context.Context, string, ofRun) (done, error) {
	return func(ctx context.Context, by string, in ofRun) (done, error) {
		return s.act(ctx, by, dashboard.Act{Run: in.Run, Verb: verb})
	}
}

type someTasks struct {
	ofRun

	Tasks  []string `json:"tasks" jsonschema:"The ids of the tasks, or of a template for all its shards."`
	Reason string   `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
}

// tasksVerb is a tool that does one thing to tasks.
func (s *Server) tasksVerb(verb string) func(context.Context, string, someTasks) (done, error) {
	return func(ctx context.Context, by string, in someTasks) (done, error) {
		if len(in.Tasks) == 0 {
			return done{}, usage.Errorf("%s needs a task", verb)
		}
		return s.act(ctx, by, dashboard.Act{Run: in.Run, Verb: verb, Tasks: in.Tasks, Text: in.Reason})
	}
}

type again struct {
	ofRun

	Tasks []string `json:"tasks,omitempty" jsonschema:"The ids of the tasks, or of templates; none for all that were given up."`
	Brief string   `json:"brief,omitempty" jsonschema:"A new brief, in place of its own; only with exactly one task."`
	// Forgotten is that of an act.
	Forgotten bool `json:"forgotten,omitempty" jsonschema:"Only add a task for files that the gates fail in and no task may change."`
}

func (s *Server) retry(ctx context.Context, by string, in again) (done, error) {
	if in.Brief != "" && len(in.Tasks) != 1 {
		return done{}, usage.Errorf("a brief is for one task: give exactly one in tasks, not %d", len(in.Tasks))
	}
	return s.act(ctx, by, dashboard.Act{
		Run: in.Run, Verb: dashboard.VerbRetry, Tasks: in.Tasks, Brief: in.Brief, Forgotten: in.Forgotten,
	})
}

type wholeOrTask struct {
	ofRun

	Task   string `json:"task,omitempty" jsonschema:"The id of one task; left out, the whole run is meant."`
	Reason string `json:"reason,omitempty" jsonschema:"Why, in a sentence for the log and the report."`
}

func (s *Server) cancel(ctx context.Context, by string, in wholeOrTask) (done, error) {
	a := dashboard.Act{Run: in.Run, Verb: dashboard.VerbCancel, Text: in.Reason}
	if in.Task != "" {
		a.Tasks = []string{in.Task}
	}
	return s.act(ctx, by, a)
}

type message struct {
	ofRun

	Task string `json:"task,omitempty" jsonschema:"The id of the task whose agent gets it; left out, the master of the run."`
	Text string `json:"text" jsonschema:"The message, in words for the agent: at most 32768 bytes."`
}

func (s *Server) send(ctx context.Context, by string, in message) (done, error) {
	if in.Text == "" {
		return done{}, usage.Errorf("send needs a text")
	}
	a := dashboard.Act{Run: in.Run, Verb: dashboard.VerbSend, Text: in.Text}
	if in.Task != "" {
		a.Tasks = []string{in.Task}
	}
	return s.act(ctx, by, a)
}
