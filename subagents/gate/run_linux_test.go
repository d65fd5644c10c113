package gate

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"divisi/internal/sandbox"
	"divisi/internal/spec"
	"divisi/subagents/gate/testnames"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

func newWhere(t *testing.T, files map[string]string) Where {
	t.Helper()
	dir := t.TempDir()
	place := sandbox.Place{Tree: dir, Home: t.TempDir(), Temp: t.TempDir()}
	for name, text := range files {
		path := filepath.Join(dir, name)
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o700)) // some of them are scripts
	}
	env, err := sandbox.Env(sandbox.Settings{Base: os.Environ(), Home: place.Seen().Home, Temp: place.Seen().Temp})
	require.NoError(t, err)
	return Where{Dir: dir, Tree: "tree-id", Env: env, Place: place}
}

func shell(script string) spec.Gate {
	return spec.Gate{Name: "shell", Command: []string{"sh", "-c", script}}
}

func run(t *testing.T, g spec.Gate, where Where) spec.Receipt {
	t.Helper()
	receipt, err := Run(t.Context(), g, where)
	require.NoError(t, err)
	return receipt
}

func TestRunGreenAndRed(t *testing.T) {
	t.Parallel()
	where := newWhere(t, map[string]string{"x.go": "package x\n"})
	green := run(t, shell("echo error: x.go is only printed"), where)
	require.Equal(t, spec.VerdictPass, green.Verdict)
	require.Empty(t, green.Signatures)
	require.Equal(t, "tree-id", green.Tree)
	require.Equal(t, "error: x.go is only printed", green.Tail)
	require.Empty(t, green.Paths)

	var sink bytes.Buffer
	where.Sink = &sink
	findings := func(script string) spec.Gate {
		g := shell(script)
		g.Format = FormatFindings
		return g
	}
	r := run(t, findings(`echo "error: broken in $PWD/x.go at $TMPDIR"; for i in $(seq 2000); do echo green $i; done; exit 4`), where)
	require.Equal(t, spec.VerdictFail, r.Verdict)
	require.Equal(t, 4, r.ExitCode)
	require.Equal(t, []string{"error: broken in x.go at TMP"}, r.Signatures)
	require.Equal(t, map[string][]string{"error: broken in x.go at TMP": {"x.go"}}, r.Paths)
	require.True(t, strings.HasPrefix(r.Tail, "error: broken"), "the failing part, not the last green lines")
	require.Contains(t, sink.String(), "green 2000")

	where.Baseline = &r
	require.Equal(t, spec.VerdictBaseline, run(t, findings(`echo "error: broken in $PWD/x.go at $TMPDIR"; exit 1`), where).Verdict)
	require.Equal(t, spec.VerdictFail, run(t, shell(`echo what; exit 1`), where).Verdict)
	require.Equal(t, spec.VerdictFail, run(t, shell(`echo "error: another one"; exit 1`), where).Verdict)
}

func TestRunTimeout(t *testing.T) {
	t.Parallel()
	g := shell("echo working; sleep 600")
	g.Timeout = spec.Duration(200 * time.Millisecond)
	r := run(t, g, newWhere(t, nil))
	require.True(t, r.TimedOut)
	require.Equal(t, []string{"gate: timed out"}, r.Signatures)
	require.Equal(t, spec.VerdictFail, r.Verdict)
	require.Equal(t, "working", r.Tail)
}

func TestRunEndedBySignal(t *testing.T) {
	t.Parallel()
	r := run(t, shell("kill -KILL $$"), newWhere(t, nil))
	require.Equal(t, []string{"gate: ended by signal killed"}, r.Signatures)
	for command, killed := range map[string]bool{
		"kill -TERM $$": true, "sh -c 'kill -KILL $$'; exit $?": true, "kill -SEGV $$": false, "kill -ABRT $$": false,
		"exit 1": false, "trap '' TERM; kill -TERM $$": false,
	} {
		require.Equal(t, killed, run(t, shell(command), newWhere(t, nil)).Killed, command)
	}
}

func TestRunWithoutItsProgram(t *testing.T) {
	t.Parallel()
	where := newWhere(t, nil)
	_, err := Run(t.Context(), spec.Gate{Name: "x", Command: []string{"no-such-tool"}}, where)
	missing, ok := errors.AsType[*sandbox.NotFoundError](err)
	require.True(t, ok)
	require.Equal(t, "no-such-tool", missing.Name)

	r := run(t, spec.Gate{Name: "x", Command: []string{"./test.sh"}}, where)
	require.Equal(t, 127, r.ExitCode)
	require.Equal(t, spec.VerdictFail, r.Verdict)
	require.Equal(t, []string{"gate: ./test.sh does not exist"}, r.Signatures)

	_, err = Run(t.Context(), spec.Gate{Name: "x"}, where)
	require.ErrorIs(t, err, sandbox.ErrInvalid)
}

func TestRunCancelledIsNoReceipt(t *testing.T) {
	t.Parallel()
	where := newWhere(t, nil)
	stop := errors.New("the run was stopped")
	ctx, cancel := context.WithCancelCause(t.Context())
	where.OnOutput = func([]byte) { cancel(stop) }
	_, err := Run(ctx, shell("echo up; sleep 600"), where)
	require.ErrorIs(t, err, stop)
}

func TestRunSaysWhenTheSinkFails(t *testing.T) {
	t.Parallel()
	where := newWhere(t, nil)
	where.Sink = brokenSink{}
	r, err := Run(t.Context(), shell("echo x"), where)
	require.ErrorContains(t, err, "store is full")
	require.Equal(t, spec.VerdictPass, r.Verdict)
}

type brokenSink struct{}

func (brokenSink) Write([]byte) (int, error) { return 0, errors.New("store is full") }

func TestRunReadsTheReportThatTheGateWrote(t *testing.T) {
	t.Parallel()
	report := `<testsuite><testcase classname="a.B" name="c"><failure message="no"/></testcase><testcase name="d"/></testsuite>`
	where := newWhere(t, map[string]string{
		"t.sh":    "#!/bin/sh\necho '" + report + "' > out.xml; echo log; exit 1",
		"old.sh":  "#!/bin/sh\nexit 1",
		"old.xml": report,
	})
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(filepath.Join(where.Dir, "old.xml"), past, past))
	r := run(t, spec.Gate{Name: "j", Command: []string{"./t.sh", "--junitxml=out.xml"}}, where)
	require.Equal(t, []string{"test: a.B c"}, r.Signatures)
	require.Equal(t, 2, r.Tests)
	require.Empty(t, run(t, spec.Gate{Name: "j", Command: []string{"./old.sh", "--junitxml=old.xml"}}, where).Signatures)
	require.Empty(t, run(t, spec.Gate{Name: "j", Command: []string{"./old.sh", "--junitxml=../gone.xml"}}, where).Signatures)
}

// A pipe in the place of a report is no report, and the gate does not wait for its writer.
func TestAPipeIsNoReport(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, unix.Mkfifo(filepath.Join(dir, "out.xml"), 0o600))
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(dir, "out")))
	root, err := os.OpenRoot(dir)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, root.Close()) })
	opened := make(chan error, 1)
	for _, name := range []string{"out.xml", "out", "missing.xml", "."} {
		go func() {
			f, err := openReport(root, name, time.Time{})
			if f != nil {
				err = errors.Join(errors.New("it was taken for a report"), f.Close())
			}
			opened <- err
		}()
		select {
		case err := <-opened:
			require.NoError(t, err, name)
		case <-time.After(10 * time.Second):
			require.Fail(t, "it waits", name)
		}
	}
}

// The gates of a Go module, run for real and confined.
func TestRunGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it compiles Go")
	}
	t.Parallel()
	tool, err := sandbox.AskGo(t.Context(), os.Environ())
	require.NoError(t, err)
	if tool.Root == "" {
		t.Skip("no go on PATH")
	}
	where := newWhere(t, map[string]string{
		"go.mod": "module tiny\n", "a.go": "package tiny\n\nimport _ \"tiny/in\"\n\nfunc Two() int { return undefined }\n",
		"in/in.go": "package in\n",
	})
	cache, err := sandbox.Caches{Dir: t.TempDir(), Go: tool}.For(sandbox.Gates, where.Place, t.TempDir())
	require.NoError(t, err)
	where.Place.Downloads = cache.Downloads
	seen := where.Place.Seen()
	where.Env, err = sandbox.Env(sandbox.Settings{
		Base: os.Environ(), Path: cache.Path, Home: seen.Home, Temp: seen.Temp, Vars: cache.Env,
	})
	require.NoError(t, err)
	where.Writable, where.Readable = cache.Writable, cache.Readable
	gates := []spec.Gate{
		{Name: "build", Command: []string{"go", "build", "./..."}},
		{Name: "test", Command: []string{"go", "test", "-json", "./..."}, Format: FormatGoTest},
	}

	build := run(t, gates[0], where)
	require.True(t, build.Build)
	require.Equal(t, []string{"a.go: undefined: undefined"}, build.Signatures)
	require.Equal(t, map[string][]string{"a.go: undefined: undefined": {".", "a.go"}}, build.Paths)
	test := run(t, gates[1], where)
	require.True(t, test.Build)
	require.Equal(t, []string{"build: a.go: undefined: undefined", "build: package tiny"}, test.Signatures)
	require.Equal(t, map[string][]string{
		"build: a.go: undefined: undefined": {".", "a.go"}, "build: package tiny": {"."},
	}, test.Paths)
	require.Equal(t, map[string][]string{".": {"in"}}, test.Imports)

	require.NoError(t, os.WriteFile(filepath.Join(where.Dir, "a.go"), []byte("package tiny\n"), 0o600))
	require.Equal(t, spec.VerdictPass, run(t, gates[0], where).Verdict)
}

// A green gate gives the tests that passed to whom asks.
func TestRunNamesTests(t *testing.T) {
	t.Parallel()
	where := newWhere(t, nil)
	where.Ran = &testnames.Tests{}
	g := shell("echo 1..2; echo ok 1 - adds; echo ok 2 - later '# SKIP'")
	g.Format = FormatTAP
	run(t, g, where)
	require.Equal(t, testnames.List{{Name: "adds"}}, where.Ran.List())
}

// What a person sees first is what the tool printed: with its numbers, its place and the line of the source.
func TestRunKeepsTheFirstErrors(t *testing.T) {
	t.Parallel()
	where := newWhere(t, map[string]string{"src/x.go": "package x\n\nvar y = 12 \n"})
	g := shell(`echo "$PWD/src/x.go:3:9: the day begins at 12"; echo "src/x.go:3: old"; echo "error: 3 of 4 files"; exit 1`)
	g.Format = FormatFindings
	before := spec.Receipt{Version: spec.ReceiptVersion, ExitCode: 1, Kind: spec.KindFindings, Signatures: []string{"src/x.go: old"}}
	where.Baseline = &before
	r := run(t, g, where)
	require.Equal(t, []spec.Finding{
		{
			Signature: "src/x.go: the day begins at N", Message: "the day begins at 12", File: "src/x.go", Line: 3, Column: 9,
			Source: "var y = 12",
		},
		{Signature: "error: N of N files", Message: "3 of 4 files"},
	}, r.Errors)
	require.Equal(t, "src/x.go:3:9: the day begins at 12", Reason(r, &before))
	require.Equal(t, "src/x.go:3:9: the day begins at 12", Shown(&r, "src/x.go: the day begins at N"))
	require.Equal(t, "src/x.go: old", Shown(&r, "src/x.go: old"))
}
