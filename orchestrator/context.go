package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"io"

	"divisi/contextscope/adk"
	"divisi/internal/release"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/explain"
	"divisi/subagents/loopguard"
)

// ContextView chooses what Run.Context shows: a turn, 0 for the newest, as it was compiled or Raw as the service was sent it; or
// the Sizes of its parts; or what changed between the turns From and To, where they are set; or Compactions. Text is for people;
// else it is JSON.
type ContextView struct {
	Turn, From, To                int
	Raw, Sizes, Compactions, Text bool
}

// Context shows what the model of an attempt of a task saw, and why; 0 is the newest attempt. It reads the log again and compiles
// what was sent.
func (r *Run) Context(ctx context.Context, task string, number int, v ContextView) ([]byte, error) {
	if r.host != nil {
		a, err := r.host.ask(ctx, hostCall{Verb: verbContext, Run: r.id, Task: task, Attempt: number, View: &v})
		return a.Data, err
	}
	ctx, leave, err := r.enter(ctx)
	if err != nil {
		return nil, err
	}
	defer leave()
	return explain.Show(ctx, r.dir, r.newest(), r.id, task, number, explain.View(v))
}

// Strike is a repetition that the loop guard has found in the events of an agent: the second one ends it.
type Strike struct {
	Event  int    `json:"event"` // the line, from 0
	Kind   string `json:"kind"`
	N      int    `json:"strike"`
	Detail string `json:"detail"`
}

// CheckLoop replays the words and calls of an agent, a line of JSON each (docs/loopguard.md), and reports each strike as it is
// found. The error of a line that cannot be read is a mistake of the caller, with the code line.
func CheckLoop(events io.Reader, report func(Strike) error) error {
	err := loopguard.Replay(events, func(event int, s *loopguard.Strike) error {
		return report(Strike{Event: event, Kind: s.Kind, N: s.N, Detail: s.Detail})
	})
	var wrong *loopguard.LineError
	if errors.As(err, &wrong) {
		return usage.With(usage.Errorf("%v", wrong.Err), usage.Line, wrong.Line)
	}
	return err
}

// Version is the version of this program.
func Version() string { return release.Version() }

// Commit is the commit that this program was built of, and its time; empty where the build had no version control.
func Commit() (commit, time string) { return release.Commit() }

// Compile compiles a session given as JSON into what a model would see, with a trace.
func Compile(session []byte) (json.RawMessage, error) {
	contents, trace, err := adk.Compile(session)
	if err != nil {
		return nil, err
	}
	return spec.JSON(map[string]any{"contents": contents, "trace": trace})
}
