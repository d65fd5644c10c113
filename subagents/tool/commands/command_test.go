package commands

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"divisi/internal/spec"
	"divisi/internal/testkit/tooltest"
	"divisi/subagents/tool"

	"github.com/stretchr/testify/require"
)

func TestRunCommand(t *testing.T) {
	t.Parallel()
	var got Command
	answer, failure := Output{Text: "\x1b[31mred\x1b[0m\r\n10%\r100%\n\x1b]0;title\x07done", ExitCode: 2}, error(nil)
	b := newBench(t, func(e *Config) {
		e.MaxCommand = 5 * time.Minute
		e.Runner = fakeRunner(func(c Command) (Output, error) { got = c; return answer, failure })
	})
	r := b.Run(spec.ToolRunCommand, tooltest.Args{"command": "make", "timeout_seconds": 9999})
	require.False(t, r.Err)
	require.Equal(t, map[string]any{"output": "red\n100%\ndone", "exit_code": 2}, r.Output)
	require.True(t, r.Red)
	require.Equal(t, Command{Shell: "make", Timeout: 5 * time.Minute}, got)
	b.Run(spec.ToolRunCommand, tooltest.Args{"args": []any{"go", "vet"}})
	require.Equal(t, Command{Args: []string{"go", "vet"}, Timeout: 2 * time.Minute}, got)

	answer = Output{TimedOut: true, ExitCode: -1}
	require.Contains(t, b.OK(spec.ToolRunCommand, tooltest.Args{"command": "x", "timeout_seconds": 7}), "[no output]\n[killed after 7s")
	failure = errors.New("no sandbox")
	require.Contains(t, b.Fails(spec.ToolRunCommand, tooltest.Args{"command": "x"}), "could not be run: no sandbox")
	require.Contains(t, b.Fails(spec.ToolRunCommand, nil), "give command")
	require.Contains(t, b.Fails(spec.ToolRunCommand, tooltest.Args{"command": "x", "args": []any{"y"}}), "not both")
	require.Contains(t, b.Fails(spec.ToolRunCommand, tooltest.Args{"command": "x\x00"}), "NUL")
}

func TestBeatOutputIsSeldomAndOneLine(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var heard []string
		out := BeatOutput(tool.WithBeat(t.Context(), func(note string) { heard = append(heard, note) }))
		out([]byte("one\ntwo \x1b[31mred\x1b[0m\r\n\n"))
		out([]byte("at once\n"))
		<-time.After(beatEvery)
		out([]byte("10%\r99%"))
		<-time.After(beatEvery)
		out(nil)
		require.Equal(t, []string{"two red", "99%", ""}, heard, "an output that says nothing is a sign of life too")
	})
	BeatOutput(context.Background())([]byte("nobody listens"))
}
