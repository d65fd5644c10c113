package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/spec"
	"divisi/internal/usage"
	"divisi/orchestrator/conductor"
	"divisi/orchestrator/phase"
	"divisi/orchestrator/recovery"
)

func TestClassesOfErrorsDecideTheExitCode(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		err  error
		code int
		hint string
	}{
		{nil, CodeOK, ""},
		{&EndError{Code: CodeParked}, CodeParked, ""},
		{usage.Errorf("no"), CodeUsage, ""},
		{&configs.FileError{}, CodeUsage, ""},
		{&spec.PlanError{}, CodeUsage, ""},
		{git.ErrNotRepository, CodeUsage, "--repo DIR"},
		{git.ErrNoCommits, CodeUsage, "git commit"},
		{&bus.LockedError{PID: 1}, CodeUsage, "divisi watch"},
		{errors.New(`unknown command "x" for "divisi"`), CodeUsage, "divisi --help"},
		{&model.Error{Class: model.Auth}, CodeUsage, "GEMINI_API_KEY"},
		{context.Canceled, CodeStopped, ""},
		{&SignalError{Signal: syscall.SIGINT}, CodeStopped, ""},
		{conductor.ErrNotApproved, CodeStopped, "Answer it with divisi decide"},
		{&model.Error{Class: model.Auth, Status: 403}, CodeMachine, "GEMINI_API_KEY"},
		{recovery.ErrAuth, CodeMachine, "divisi resume"},
		{recovery.ErrService, CodeMachine, "divisi resume"},
		{git.ErrNoGit, CodeMachine, ""},
		{bus.ErrFull, CodeMachine, "Free some space"},
		{syscall.ENOSPC, CodeMachine, "Free some space"},
		{errors.New("git: fatal: No space left on device"), CodeMachine, "Free some space"},
		{fs.ErrPermission, CodeMachine, "--state-dir"},
		{syscall.ENOTDIR, CodeMachine, "--state-dir"},
		{phase.ErrPreflight, CodeMachine, ".divisi/divisi.yaml"},
		{errors.New("anything"), CodeMachine, ""},
	} {
		err := c.err
		if err != nil && c.code != CodeUsage {
			err = fmt.Errorf("while at work: %w", err)
		}
		require.Equal(t, c.code, ExitCode(err), "%v", c.err)
		if c.hint != "" {
			require.Contains(t, HintFor(err), c.hint)
		} else if c.err != nil {
			require.Empty(t, HintFor(err), "%v", c.err)
		}
	}
}

// globals are those of a program with two commands.
func globals(out, err io.Writer) *Globals {
	root := &cobra.Command{Use: "divisi"}
	root.AddCommand(&cobra.Command{Use: "run"}, &cobra.Command{Use: "resume"})
	return &Globals{Out: out, Err: err, Called: CalledBy(root), Output: "text", StateDir: DefaultStateDir()}
}

func TestAnErrorIsOneMessageOrOneLineOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := globals(nil, &out)
	PrintError(g, nil)
	PrintError(g, &EndError{Code: CodeParked})
	require.Empty(t, out.String())
	PrintError(g, usage.Errorf("first\nsecond"))
	require.Equal(t, "divisi: first\n  second\n", out.String())
	out.Reset()
	g.Output = "json"
	PrintError(g, usage.Errorf("first\nsecond"))
	var line struct {
		Error    string `json:"error"`
		ExitCode int    `json:"exit_code"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "first\nsecond", line.Error)
	require.Equal(t, CodeUsage, line.ExitCode)
}

// A command that a hint names finds the run where this one has it.
func TestAHintNamesTheStateDirectory(t *testing.T) {
	t.Parallel()
	g := globals(nil, nil)
	g.StateDir = "/elsewhere"
	require.Equal(t, "now: divisi --state-dir /elsewhere resume 1f2e", g.Calls("now: divisi resume 1f2e"))
	require.Equal(t, "divisi is here", g.Calls("divisi is here"))
}
