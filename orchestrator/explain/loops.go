package explain

import (
	"encoding/json"
	"errors"
	"io"

	"divisi/contextscope/adk"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/subagents/loopguard"
)

// Strike is a repetition that the loop guard has found in the events of an agent: the second one ends it.
type Strike struct {
	Event  int    `json:"event"` // the line, from 0
	Kind   string `json:"kind"`
	N      int    `json:"strike"`
	Detail string `json:"detail"`
}

// CheckLoop replays the words and calls of an agent, a line of JSON each (docs/agent.md), and reports each strike as it is
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

// Compile compiles a session given as JSON into what a model would see, with a trace.
func Compile(session []byte) (json.RawMessage, error) {
	contents, trace, err := adk.Compile(session)
	if err != nil {
		return nil, err
	}
	return spec.JSON(map[string]any{"contents": contents, "trace": trace})
}
