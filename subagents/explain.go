package subagents

import (
	"context"
	"errors"
	"fmt"
	"os"

	"google.golang.org/genai"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/subagents/tool"
	"divisi/subagents/wire"
)

// ErrNoTurn says that an attempt has not come to the turn that was asked for.
var ErrNoTurn = errors.New("there is no such turn")

// Explained is what a model saw at one turn of an attempt.
type Explained struct {
	Agent string `json:"agent"`
	// Turn counts the model's answers from 1; Turns is how many the log has. Turn may be one more: what would be sent next.
	Turn  int `json:"turn"`
	Turns int `json:"turns"`
	contextscope.Request
}

// Explain compiles the request of one turn again, from the same log and the same assignment: compiling is a function, so it
// is what was sent. Turn 0 means the newest turn that was answered. extra are the tools that the worker brought.
func Explain(ctx context.Context, b *bus.Bus, a *wire.Assignment, turn int, extra []tool.Tool) (Explained, error) {
	in, err := inputOf(ctx, b, a)
	if err != nil {
		return Explained{}, err
	}
	events, _, err := readSession(ctx, b, bus.AttemptSubject(a.Run, a.Role.Name, a.Task.ID, a.Attempt))
	if err != nil {
		return Explained{}, fmt.Errorf("read the session of %s: %w", a.Agent(), err)
	}
	before, turns := upTo(events, turn)
	if turn == 0 {
		turn = max(1, turns)
	}
	if turn < 1 || turn > turns+1 {
		return Explained{}, fmt.Errorf("%s has %d turns: %w: %d", a.Agent(), turns, ErrNoTurn, turn)
	}
	if in.Tools, err = declarations(a, extra); err != nil {
		return Explained{}, err
	}
	in.Events = append(in.Events, before...)
	return Explained{Agent: a.Agent(), Turn: turn, Turns: turns, Request: contextscope.NewCompiler().Compile(in)}, nil
}

// upTo returns the events before the turn's answer (0: before the newest), and how many answers there are.
func upTo(events []contextscope.Event, turn int) (before []contextscope.Event, turns int) {
	cut := len(events)
	for i, e := range events {
		if e.Kind != contextscope.KindTurn {
			continue
		}
		if turns++; turns == turn || turn == 0 {
			cut = i
		}
	}
	return events[:cut], turns
}

// declarations are what the attempt's tools tell the model. The set is built over an empty directory: nothing of it is run.
func declarations(a *wire.Assignment, extra []tool.Tool) ([]*genai.FunctionDeclaration, error) {
	dir, err := os.MkdirTemp("", "divisi-explain-")
	if err != nil {
		return nil, fmt.Errorf("make a temporary directory: %w", err)
	}
	defer os.Remove(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open a temporary directory: %w", err)
	}
	defer root.Close()
	set, err := tool.Builtin(a.Role.Tools, tool.Env{
		Root: root, Dir: dir, Runner: runner{}, Artifacts: shelf{}, Output: a.Role.Output, Extra: extra,
	})
	if err != nil {
		return nil, fmt.Errorf("the tools of role %s: %w", a.Role.Name, err)
	}
	return set.Declarations(), nil
}
