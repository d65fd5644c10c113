package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/configs"
	"divisi/internal/git"
	"divisi/internal/model"
	"divisi/internal/spec"
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
		{nil, codeOK, ""},
		{&endError{codeParked, ""}, codeParked, ""},
		{usagef("no"), codeUsage, ""},
		{&configs.FileError{}, codeUsage, ""},
		{&spec.PlanError{}, codeUsage, ""},
		{git.ErrNotRepository, codeUsage, "--repo DIR"},
		{git.ErrNoCommits, codeUsage, "git commit"},
		{&bus.LockedError{PID: 1}, codeUsage, "divisi watch"},
		{errors.New(`unknown command "x" for "divisi"`), codeUsage, "divisi --help"},
		{&model.Error{Class: model.Auth}, codeUsage, "GEMINI_API_KEY"},
		{context.Canceled, codeStopped, ""},
		{&signalError{syscall.SIGINT}, codeStopped, ""},
		{conductor.ErrNotApproved, codeStopped, "Answer it with divisi decide"},
		{&model.Error{Class: model.Auth, Status: 403}, codeMachine, "GEMINI_API_KEY"},
		{recovery.ErrAuth, codeMachine, "divisi resume"},
		{recovery.ErrService, codeMachine, "divisi resume"},
		{git.ErrNoGit, codeMachine, ""},
		{bus.ErrFull, codeMachine, "Free some space"},
		{syscall.ENOSPC, codeMachine, "Free some space"},
		{errors.New("git: fatal: No space left on device"), codeMachine, "Free some space"},
		{fs.ErrPermission, codeMachine, "--state-dir"},
		{syscall.ENOTDIR, codeMachine, "--state-dir"},
		{phase.ErrPreflight, codeMachine, ".divisi/divisi.yaml"},
		{errors.New("anything"), codeMachine, ""},
	} {
		err := c.err
		if err != nil && c.code != codeUsage {
			err = fmt.Errorf("while at work: %w", err)
		}
		require.Equal(t, c.code, exitCode(err), "%v", c.err)
		if c.hint != "" {
			require.Contains(t, hintFor(err), c.hint)
		} else if c.err != nil {
			require.Empty(t, hintFor(err), "%v", c.err)
		}
	}
}

func TestAnErrorIsOneMessageOrOneLineOfJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	g := &globals{err: &out}
	newRoot(g)
	printError(g, nil)
	printError(g, &endError{codeParked, ""})
	require.Empty(t, out.String())
	printError(g, usagef("first\nsecond"))
	require.Equal(t, "divisi: first\n  second\n", out.String())
	out.Reset()
	g.output = "json"
	printError(g, usagef("first\nsecond"))
	var line struct {
		Error    string `json:"error"`
		ExitCode int    `json:"exit_code"`
	}
	require.NoError(t, json.Unmarshal(out.Bytes(), &line))
	require.Equal(t, "first\nsecond", line.Error)
	require.Equal(t, codeUsage, line.ExitCode)
}

// A command that a hint names finds the run where this one has it.
func TestAHintNamesTheStateDirectory(t *testing.T) {
	t.Parallel()
	g := &globals{}
	for _, c := range newRoot(g).Commands() {
		g.stateDir = "/elsewhere"
		require.Equal(t, "now: divisi --state-dir /elsewhere "+c.Name()+" 1f2e", g.calls("now: divisi "+c.Name()+" 1f2e"))
	}
	require.Equal(t, "divisi is here", g.calls("divisi is here"))
}
