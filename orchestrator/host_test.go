package orchestrator_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/contextscope"
	"divisi/orchestrator"
	"divisi/orchestrator/act"
	"divisi/orchestrator/host"
)

// serve hosts runs until its input ends; then it stops in order.
func serve(ctx context.Context, h *half) int {
	it := must(host.NewHost(host.Options{
		StateDir: h.State, Server: orchestrator.Server{URL: h.NATS},
		Notice: func(run, text string) { fmt.Fprintln(os.Stderr, run, text) },
	}))
	try(it.Start(ctx))
	fmt.Fprintln(os.Stdout, "ready")
	_ = must(io.ReadAll(os.Stdin))
	it.Stop()
	return 0
}

// submit prints the id of the run that it has submitted, and ends.
func submit(ctx context.Context, o *orchestrator.Options, url string) int {
	r, err := orchestrator.Submit(ctx, *o, orchestrator.Server{URL: url})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	fmt.Fprintln(os.Stdout, r.ID())
	try(r.Close())
	return 0
}

// hosting is a host in a process of its own.
type hosting struct {
	*process

	stop io.Closer
}

func hostAt(t *testing.T, state, url string) hosting {
	t.Helper()
	var in io.WriteCloser
	p := spawn(t, half{Serve: true, State: state, NATS: url}, func(cmd *exec.Cmd) {
		var err error
		in, err = cmd.StdinPipe()
		require.NoError(t, err)
	})
	if p.line() != "ready" {
		_ = p.cmd.Wait()
		require.Fail(t, "the host did not start", p.err.String())
	}
	return hosting{p, in}
}

func (h hosting) stopped() {
	h.t.Helper()
	require.NoError(h.t, h.stop.Close())
	h.ended()
}

// submitted submits from a process that ends then.
func submitted(t *testing.T, h half) (id string) {
	t.Helper()
	h.Submit = true
	p := spawn(t, h)
	id = p.line()
	p.ended()
	return id
}

// decided accepts what waits, until the run has ended.
func decided(t *testing.T, r *orchestrator.Run, kinds map[string]bool) {
	t.Helper()
	for line, err := range r.Events(t.Context()) {
		require.NoError(t, err)
		if !strings.Contains(string(line), `"held"`) {
			continue
		}
		open, err := r.Decisions(t.Context())
		require.NoError(t, err)
		for i := range open {
			kinds[string(open[i].Kind)] = true
			require.NotEmpty(t, open[i].Patches)
			require.Empty(t, open[i].Patches[0].Fault)
			require.NotEmpty(t, open[i].Patches[0].Diff)
			_, err := r.Act(t.Context(), act.Decide{Decision: open[i].ID, Option: open[i].Options[0].Name})
			require.True(t, err == nil || orchestrator.IsUsage(err), "%v", err)
		}
	}
}

// A laptop submits and is gone; a host conducts without a checkout, a worker works, a third machine decides, a fourth publishes.
func TestSlowARunIsConductedWhereTheRepositoryIsNot(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	h := half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sed, -i, 's/.*/A NOTE/', '{files}']",
		Review: true,
	}
	state := filepath.Join(dir, "host")
	hosting := hostAt(t, state, url)
	id := submitted(t, h)
	require.NoDirExists(t, filepath.Join(laptop, "runs", id))
	require.NoError(t, os.Rename(h.Repo, h.Repo+"-away")) // nothing of it is read any more
	work := spawn(t, half{
		Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url,
	})
	runs := orchestrator.On(orchestrator.Server{URL: url})
	ids, err := runs.List(t.Context())
	require.NoError(t, err)
	require.Equal(t, []string{id}, ids)
	r, err := runs.Open(t.Context(), id)
	require.NoError(t, err)
	kinds := map[string]bool{}
	decided(t, r, kinds)
	require.Equal(t, map[string]bool{"patch": true}, kinds)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "done", end.State, end.Reason)
	work.ended()

	s, err := runs.Summary(t.Context(), id)
	require.NoError(t, err)
	require.True(t, s.Unfetched)
	at := orchestrator.Server{URL: url}
	_, err = orchestrator.RemoveOn(t.Context(), at, id, false)
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "is in no repository yet")
	require.NoError(t, os.Rename(h.Repo+"-away", h.Repo))
	before := gitIn(t, h.Repo, "for-each-ref") + gitIn(t, h.Repo, "status", "--porcelain")
	r, err = runs.Open(t.Context(), id)
	require.NoError(t, err)
	require.True(t, r.NotRunning())
	result, err := orchestrator.PublishTo(t.Context(), r, h.Repo)
	require.NoError(t, err)
	require.Equal(t, "refs/heads/divisi/"+id, result.Ref)
	require.NotEmpty(t, result.Changes)
	require.Equal(t, end.Head, strings.TrimSpace(gitIn(t, h.Repo, "rev-parse", result.Ref)))
	again, err := orchestrator.PublishTo(t.Context(), r, h.Repo)
	require.NoError(t, err)
	require.Equal(t, result.Ref, again.Ref)
	gitIn(t, h.Repo, "fsck", "--strict")
	s, err = runs.Summary(t.Context(), id)
	require.NoError(t, err)
	require.False(t, s.Unfetched)

	// A ref that a person has moved is theirs.
	gitIn(t, h.Repo, "update-ref", result.Ref, "main")
	moved, err := orchestrator.PublishTo(t.Context(), r, h.Repo)
	require.NoError(t, err)
	require.Equal(t, result.Ref+"-2", moved.Ref)
	require.Len(t, moved.Notices, 1)
	gitIn(t, h.Repo, "update-ref", "-d", result.Ref)
	gitIn(t, h.Repo, "update-ref", "-d", moved.Ref)
	require.Equal(t, before, gitIn(t, h.Repo, "for-each-ref")+gitIn(t, h.Repo, "status", "--porcelain"))

	other := filepath.Join(dir, "other")
	gitIn(t, dir, "init", "-q", other)
	gitIn(t, other, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-q", "--allow-empty", "-m", "Begin elsewhere")
	_, err = orchestrator.PublishTo(t.Context(), r, other)
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "no longer has the commit")
	_, err = r.Take(t.Context(), "capitals", 0, t.TempDir())
	require.ErrorContains(t, err, "an attempt is taken where run "+id+" is conducted")
	require.NoError(t, r.Close())
	gone, err := orchestrator.RemoveOn(t.Context(), at, id, false)
	require.NoError(t, err)
	require.Equal(t, id, gone.What)
	require.Positive(t, gone.ServerBytes)
	ids, err = runs.List(t.Context())
	require.NoError(t, err)
	require.Empty(t, ids)
	require.NoDirExists(t, filepath.Join(state, "runs", id))
	_, err = orchestrator.RemoveOn(t.Context(), at, id, true)
	require.ErrorContains(t, err, "there is no run")
	hosting.stopped()
}

// setUp follows the log of a run until its workers were told so often what they are made of.
func setUp(t *testing.T, url, id string, times int) {
	t.Helper()
	b, err := bus.Open(t.Context(), bus.Options{URL: url, Run: id})
	require.NoError(t, err)
	defer func() { require.NoError(t, b.Close(context.Background())) }()
	for m, err := range b.Tail(t.Context(), bus.ConductorSubject(id, string(contextscope.KindRun)), 1) {
		require.NoError(t, err)
		if strings.Contains(string(m.Data), `"setup":"setup-`) {
			times--
		}
		if times == 0 {
			return
		}
	}
}

// A host that is killed, or stopped in order, goes on with its runs when it is started again; a run that a person stopped stays so
// until a person resumes it.
func TestSlowAHostGoesOnWithItsRuns(t *testing.T) {
	t.Parallel()
	url, dir := broker(t), t.TempDir()
	repo, laptop, remove := newRepository()
	defer remove()
	state := filepath.Join(dir, "host")
	first := hostAt(t, state, url)
	id := submitted(t, half{
		State: laptop, NATS: url, Repo: repo, Plan: plan.Name, PlanText: string(plan.Data), Role: "[sleep, '3600']",
	})
	require.NotEmpty(t, id)
	w := half{
		Work: true, State: filepath.Join(dir, "work"), Run: id, NATS: url,
	}
	work := spawn(t, w)
	started := []contextscope.Kind{contextscope.KindStarted}
	until(t, url, id, started...)
	first.kill()
	second := hostAt(t, state, url)
	started = append(started, contextscope.KindStarted)
	until(t, url, id, started...)
	second.stopped()
	work.ended() // the run was stopped
	third := hostAt(t, state, url)
	setUp(t, url, id, 3)

	runs := orchestrator.On(orchestrator.Server{URL: url})
	r, err := runs.Open(t.Context(), id)
	require.NoError(t, err)
	require.False(t, r.NotRunning())
	require.Eventually(t, func() bool { // it has just begun
		_, err = r.Act(t.Context(), act.Pause{})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	end, err := r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "stopped paused by a person", end.State+" "+end.Reason)
	third.stopped()

	fourth := hostAt(t, state, url)
	r, err = runs.Open(t.Context(), id)
	require.NoError(t, err)
	require.True(t, r.NotRunning())
	_, err = r.Act(t.Context(), act.Send{Task: "capitals", Text: "Hurry up."}) // the host answers for a run without a conductor
	require.ErrorContains(t, err, "it cannot receive messages")
	require.True(t, orchestrator.IsUsage(err))
	require.NoError(t, r.Close())
	r, err = orchestrator.ResumeOn(t.Context(), orchestrator.Server{URL: url}, orchestrator.ResumeOptions{Run: id})
	require.NoError(t, err)
	require.False(t, r.NotRunning())
	require.NotZero(t, r.Resumed())
	_, err = orchestrator.ResumeOn(t.Context(), orchestrator.Server{URL: url}, orchestrator.ResumeOptions{Run: id})
	require.ErrorContains(t, err, "run "+id+" is active")
	_, err = orchestrator.RemoveOn(t.Context(), orchestrator.Server{URL: url}, id, true)
	require.ErrorContains(t, err, "is active: cancel it first")
	setUp(t, url, id, 4)
	work = spawn(t, w)
	started = append(started, contextscope.KindStarted)
	until(t, url, id, started...)
	_, err = r.Act(t.Context(), act.Cancel{Reason: "it was enough"})
	require.NoError(t, err)
	end, err = r.Wait(t.Context())
	require.NoError(t, err)
	require.Equal(t, "cancelled it was enough", end.State+" "+end.Reason)
	work.ended()
	fourth.stopped()
}

// hosts is a host in this process.
func hosts(t *testing.T, dir, url string) *host.Host {
	t.Helper()
	h, err := host.NewHost(host.Options{StateDir: dir, Server: orchestrator.Server{URL: url}})
	require.NoError(t, err)
	require.NoError(t, h.Start(t.Context()))
	return h
}

// stored counts the messages about runs that a server stores.
func stored(t *testing.T, url string) (n uint64) {
	t.Helper()
	nc, err := nats.Connect(url)
	require.NoError(t, err)
	defer nc.Close()
	js, err := jetstream.New(nc)
	require.NoError(t, err)
	for info := range js.ListStreams(t.Context()).Info() {
		if info.Config.Name != "LEASE" { // which the host has written
			n += info.State.Msgs
		}
	}
	return n
}

func TestNothingIsSentBeforeTrust(t *testing.T) {
	t.Parallel()
	url := broker(t)
	repo, state, remove := newRepository()
	defer remove()
	h := hosts(t, t.TempDir(), url)
	defer h.Stop()
	require.NoError(t, os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"),
		[]byte("setup: [make, deps]\ngates:\n  - {name: test, command: [grep, -iq, note, notes.txt]}\n"), 0o600))
	gitIn(t, repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-qam", "Add a setup")
	asked := 0
	o := orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: state}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[true]")},
		Trust: func(context.Context, []string) (bool, error) { asked++; return false, nil },
	}
	_, err := orchestrator.Submit(t.Context(), o, orchestrator.Server{URL: url})
	require.ErrorIs(t, err, orchestrator.ErrNotTrusted)
	require.Equal(t, 1, asked)
	require.Zero(t, stored(t, url))

	// What only this checkout has does not travel either.
	require.NoError(t, os.WriteFile(filepath.Join(repo, ".divisi", "divisi.yaml"),
		[]byte("environment: checkout\ngates:\n  - {name: test, command: [grep, -iq, note, notes.txt]}\n"), 0o600))
	gitIn(t, repo, "-c", "user.name=a", "-c", "user.email=a@b.test", "commit", "-qam", "Take the checkout")
	o.Trust = func(context.Context, []string) (bool, error) { return true, nil }
	_, err = orchestrator.Submit(t.Context(), o, orchestrator.Server{URL: url})
	require.True(t, orchestrator.IsUsage(err), "%v", err)
	require.ErrorContains(t, err, "another machine does not have: write a setup")
	require.Zero(t, stored(t, url))
}

func TestSubmitNeedsAHost(t *testing.T) {
	t.Parallel()
	url := broker(t)
	repo, state, remove := newRepository()
	defer remove()
	_, err := orchestrator.Submit(t.Context(), orchestrator.Options{
		Machine: orchestrator.Machine{StateDir: state}, Repo: repo, Plan: &plan, Roles: []orchestrator.File{role("[true]")},
	}, orchestrator.Server{URL: url})
	require.ErrorIs(t, err, bus.ErrNoListener)
	require.ErrorContains(t, err, "no host conducts runs on")
	require.Zero(t, stored(t, url))

	h := hosts(t, t.TempDir(), url)
	defer h.Stop()
	_, err = orchestrator.On(orchestrator.Server{URL: url}).Open(t.Context(), "20261123-000000-aaaa")
	require.ErrorContains(t, err, `there is no run "20261123-000000-aaaa"`)
	_, err = orchestrator.On(orchestrator.Server{URL: url}).Summary(t.Context(), "../x")
	require.ErrorContains(t, err, "is no run's id")
}
