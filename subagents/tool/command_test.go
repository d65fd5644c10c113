package tool

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"divisi/internal/spec"

	"github.com/stretchr/testify/require"
)

func TestRunCommand(t *testing.T) {
	t.Parallel()
	var got Command
	answer, failure := Output{Text: "\x1b[31mred\x1b[0m\r\n10%\r100%\n\x1b]0;title\x07done", ExitCode: 2}, error(nil)
	b := newBench(t, nil, func(e *Env) {
		e.MaxCommand = 5 * time.Minute
		e.Runner = fakeRunner{output: func(c Command) (Output, error) { got = c; return answer, failure }}
	})
	r := b.run(spec.ToolRunCommand, args{"command": "make", "timeout_seconds": 9999})
	require.False(t, r.Err)
	require.Equal(t, map[string]any{"output": "red\n100%\ndone", "exit_code": 2}, r.Output)
	require.Equal(t, Command{Shell: "make", Timeout: 5 * time.Minute}, got)
	b.run(spec.ToolRunCommand, args{"args": []any{"go", "vet"}})
	require.Equal(t, Command{Args: []string{"go", "vet"}, Timeout: 2 * time.Minute}, got)

	answer = Output{TimedOut: true, ExitCode: -1}
	require.Contains(t, b.ok(spec.ToolRunCommand, args{"command": "x", "timeout_seconds": 7}), "[no output]\n[killed after 7s")
	failure = errors.New("no sandbox")
	require.Contains(t, b.fails(spec.ToolRunCommand, args{"command": "x"}), "could not be run: no sandbox")
	require.Contains(t, b.fails(spec.ToolRunCommand, nil), "give command")
	require.Contains(t, b.fails(spec.ToolRunCommand, args{"command": "x", "args": []any{"y"}}), "not both")
	require.Contains(t, b.fails(spec.ToolRunCommand, args{"command": "x\x00"}), "NUL")
}

func TestSubmitResult(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, func(e *Env) {
		e.Output = json.RawMessage(`{"type":"object","properties":{"n":{"$ref":"#/$defs/count"}},"required":["n"],
			"$defs":{"count":{"type":"integer"}},"additionalProperties":false}`)
		e.Artifacts = &keeper{data: map[string][]byte{"h": []byte("x")}}
	})
	r := b.run(spec.ToolSubmitResult, args{
		"summary": " done ", "findings": []any{"a.go:1 x"}, "deviations": []any{},
		"artifacts": []any{"h"}, "output": args{"n": 3},
	})
	require.False(t, r.Err, "%v", r.Output)
	require.True(t, r.Ends)
	require.Equal(t, &spec.Handoff{
		Summary: "done", Findings: []string{"a.go:1 x"}, Artifacts: []string{"h"}, Output: json.RawMessage(`{"n":3}`),
	}, r.Submit)

	said := b.fails(spec.ToolSubmitResult, args{"summary": "x", "artifacts": []any{"h", "lost"}, "output": args{"n": 3}})
	require.Contains(t, said, `artifact "lost" cannot be read by others`)
	require.NotContains(t, said, `"h"`)
	said = b.fails(spec.ToolSubmitResult, args{"findings": "x", "output": args{"n": "three", "m": 1}})
	require.Contains(t, said, "missing: summary")
	require.Contains(t, said, "findings: is of type string")
	require.Contains(t, said, "output.n: is of type string and must be integer")
	require.Contains(t, said, `output: there is no argument "m"`)
	require.Contains(t, b.fails(spec.ToolSubmitResult, args{"summary": " ", "output": args{"n": 1}}), "summary is empty")
	require.Contains(t, b.fails(spec.ToolSubmitResult, args{"summary": "x"}), "missing: output")
}

func TestSubmitResultWithoutASchema(t *testing.T) {
	t.Parallel()
	b := newBench(t, nil, nil)
	r := b.run(spec.ToolSubmitResult, args{"summary": "s"})
	require.True(t, r.Ends)
	require.Contains(t, b.fails(spec.ToolSubmitResult, args{"summary": "s", "output": args{}}), `no argument "output"`)
	_, err := newSubmitResult(json.RawMessage(`[`), nil)
	require.ErrorContains(t, err, "output schema")
}
