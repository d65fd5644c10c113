package host

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"github.com/stretchr/testify/require"

	"divisi/bus"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/testkit/chantest"
	"divisi/orchestrator/act"
	"divisi/orchestrator/call"
	"divisi/orchestrator/client"
	"divisi/orchestrator/conduct"
	"divisi/orchestrator/depot"
	"divisi/subagents/wire"
)

// largePack is less than a pack with all files of a submitter's repository has, smallPack more than a pack of a change.
const (
	largePack = 2 << 20
	smallPack = 64 << 10
)

// submitter submits the head of a repository to a host in this process.
type submitter struct {
	t         *testing.T
	at        depot.Server
	repo      string
	stateDir  string
	host      *Host
	hostDir   string
	js        jetstream.JetStream
	hostSaid  chan string
	submitted []string
	send      bool // the environment of the checkout
	told      string
}

func newSubmitter(t *testing.T) *submitter {
	t.Helper()
	broker, err := server.NewServer(&server.Options{
		Host: "127.0.0.1", Port: server.RANDOM_PORT, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, NoLog: true,
	})
	require.NoError(t, err)
	broker.Start()
	t.Cleanup(func() { broker.Shutdown(); broker.WaitForShutdown() })
	require.True(t, broker.ReadyForConnections(10*time.Second))
	s := &submitter{
		t: t, at: depot.Server{URL: broker.ClientURL()}, repo: filepath.Join(t.TempDir(), "repo"), stateDir: t.TempDir(), hostDir: t.TempDir(),
		hostSaid: make(chan string, 64),
	}
	nc, err := nats.Connect(s.at.URL)
	require.NoError(t, err)
	t.Cleanup(nc.Close)
	s.js, err = jetstream.New(nc)
	require.NoError(t, err)
	require.NoError(t, os.MkdirAll(filepath.Join(s.repo, ".divisi"), 0o700))
	s.git("init", "-q")
	large := make([]byte, largePack+largePack/4)
	_, err = rand.Read(large)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(s.repo, "large"), large, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(s.repo, ".divisi", "divisi.yaml"),
		[]byte("gates:\n  - {name: test, command: ['true']}\n"), 0o600))
	s.commit("one")
	s.serve()
	t.Cleanup(func() { s.host.Stop() })
	return s
}

// serve starts a host on the state directory.
func (s *submitter) serve() {
	s.t.Helper()
	var err error
	s.host, err = NewHost(Options{
		StateDir: s.hostDir, Server: s.at, Notice: func(_, text string) { s.hostSaid <- text },
	})
	require.NoError(s.t, err)
	require.NoError(s.t, s.host.Start(s.t.Context()))
}

// between has do answer the calls of the host: next is the host's own answer.
func (s *submitter) between(do func(ctx context.Context, in call.In, next func(call.In) ([]byte, error)) ([]byte, error)) {
	s.t.Helper()
	s.host.deaf()
	var err error
	s.host.deaf, err = s.host.listen(context.WithoutCancel(s.t.Context()), func(ctx context.Context, m bus.Message) ([]byte, error) {
		var in call.In
		if err := wire.Decode(m.Data, &in); err != nil {
			return nil, err
		}
		return do(ctx, in, func(in call.In) ([]byte, error) {
			return s.host.answerer().Answer(ctx, bus.Message{Subject: m.Subject, Data: []byte(spec.JSONText(in))})
		})
	})
	require.NoError(s.t, err)
}

// nameIn is the name of an order in a call.
func nameIn(t *testing.T, in *call.In) (name string) {
	t.Helper()
	require.NoError(t, json.Unmarshal(in.Body, &name))
	return name
}

func (s *submitter) git(args ...string) string {
	s.t.Helper()
	cmd := exec.CommandContext(s.t.Context(), "git", append([]string{"-c", "user.name=U", "-c", "user.email=u@localhost"}, args...)...)
	cmd.Dir = s.repo
	out, err := cmd.CombinedOutput()
	require.NoError(s.t, err, string(out))
	return strings.TrimSpace(string(out))
}

func (s *submitter) commit(text string) string {
	s.t.Helper()
	require.NoError(s.t, os.WriteFile(filepath.Join(s.repo, "notes.txt"), []byte(text+"\n"), 0o600))
	s.git("add", "-A")
	s.git("commit", "-q", "-m", text)
	return s.git("rev-parse", "HEAD")
}

func (s *submitter) submit() error {
	s.t.Helper()
	r, err := conduct.Submit(s.t.Context(), conduct.Options{
		Machine: conduct.Machine{StateDir: s.stateDir, Notice: func(text, _ string) { s.told += text + "\n" }}, Repo: s.repo,
		SendEnvironment: s.send, Trust: func(context.Context, []string) (bool, error) { return true, nil },
		Plan: &conduct.File{Name: "plan.yaml", Data: []byte(
			"goal: Write\ntasks:\n  - {id: write, role: editor, brief: Write the file., files: [notes.txt]}\n")},
		Roles: []conduct.File{{Name: "editor.md", Data: []byte(
			"---\nname: editor\ndescription: Edits files\nexecutor: command\ncommand: ['true']\n---\nThe command does the work.\n")}},
	}, s.at)
	if err != nil {
		return err
	}
	s.submitted = append(s.submitted, r.ID())
	return r.Close()
}

// costs is how many bytes the cache of the server gets while the head is submitted. The host has all files of it then.
func (s *submitter) costs() (bytes uint64) {
	s.t.Helper()
	before := s.cached()
	require.NoError(s.t, s.submit())
	bytes = s.cached() - before
	require.Equal(s.t, s.git("ls-tree", "-r", "HEAD"), s.onHost(s.last(), "ls-tree", "-r", s.git("rev-parse", "HEAD")))
	s.onHost(s.last(), "fsck", "--strict", "--no-dangling")
	return bytes
}

// pause pauses the last run, which may just begin, and waits until it is not conducted any more.
func (s *submitter) pause() {
	s.t.Helper()
	r, err := client.On(s.at).Open(s.t.Context(), s.last())
	require.NoError(s.t, err)
	require.Eventually(s.t, func() bool {
		_, err = r.Act(s.t.Context(), act.Pause{})
		return err == nil
	}, time.Minute, 10*time.Millisecond)
	require.NoError(s.t, r.Close())
	require.Eventually(s.t, func() bool { return !s.host.Active(s.last()) }, time.Minute, time.Millisecond)
}

func (s *submitter) last() string { return s.submitted[len(s.submitted)-1] }

// onHost runs git in the mirror of a run on the host.
func (s *submitter) onHost(id string, args ...string) string {
	s.t.Helper()
	return s.git(append([]string{"--git-dir", filepath.Join(s.hostDir, "runs", id, "repo.git")}, args...)...)
}

func (s *submitter) cached() uint64 {
	s.t.Helper()
	stream, err := s.js.Stream(s.t.Context(), "CACHE")
	if err != nil {
		require.ErrorIs(s.t, err, jetstream.ErrStreamNotFound)
		return 0
	}
	info, err := stream.Info(s.t.Context())
	require.NoError(s.t, err)
	return info.State.Bytes
}

// collection is what the host has of the repository, beside its history.
func (s *submitter) collection() string {
	s.t.Helper()
	found, err := filepath.Glob(filepath.Join(s.hostDir, "mirrors", "*", "HEAD"))
	require.NoError(s.t, err)
	found = slices.DeleteFunc(found, func(name string) bool { return strings.Contains(name, "-history-") })
	require.Len(s.t, found, 1)
	return filepath.Dir(found[0])
}

// The host gets each file once, and so does a worker of its runs.
func TestSlowTheNextSubmissionSendsWhatTheHostLacks(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	first := s.git("rev-parse", "HEAD")
	require.Greater(t, s.costs(), uint64(largePack))
	require.Less(t, s.costs(), uint64(smallPack), "the same commit again")
	second := s.commit("two")
	require.Less(t, s.costs(), uint64(smallPack))
	require.Empty(t, s.hostSaid)

	g, err := git.New(t.Context())
	require.NoError(t, err)
	at := filepath.Join(s.hostDir, "runs", s.last())
	mirror, err := g.OpenMirror(filepath.Join(at, "repo.git"))
	require.NoError(t, err)
	defer mirror.Close()
	h := &conduct.Half{Git: g, Bus: s.host.bus, Path: at, Mirror: mirror}
	h.Spec.Base = second
	whole, err := h.Pack(t.Context(), second, nil)
	require.NoError(t, err)
	require.Greater(t, whole.Size, int64(largePack))
	more, err := h.Pack(t.Context(), second, []string{strings.Repeat("1", 40), first})
	require.NoError(t, err)
	require.Less(t, more.Size, int64(smallPack))
	c, err := g.OpenCollection(filepath.Join(t.TempDir(), "worker"), first)
	require.NoError(t, err)
	defer c.Close()
	h.Spec.Base = first // the worker has it from an earlier run
	h.Mirror, err = g.OpenMirror(filepath.Join(s.hostDir, "runs", s.submitted[0], "repo.git"))
	require.NoError(t, err)
	defer h.Mirror.Close()
	earlier, err := h.Pack(t.Context(), first, nil)
	require.NoError(t, err)
	for _, p := range []struct {
		commit string
		depot.SealedPack
	}{{first, earlier}, {second, more}} {
		require.NoError(t, p.Copy(t.Context(), h.Bus.Cache(), func(ctx context.Context, pack io.Reader) error {
			return c.Receive(ctx, p.commit, pack)
		}))
	}
	full, err := c.Whole(t.Context(), second)
	require.NoError(t, err)
	require.True(t, full)
}

// What the host said that it has, and has not, is sent after all: once.
func TestSlowASubmissionIsRepeatedWithTheWholePack(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	s.costs()
	starts := 0
	remove := func() error { return os.RemoveAll(s.collection()) }
	s.between(func(_ context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		data, err := next(q)
		switch {
		case q.Name == "start":
			starts++
		case q.Name == "have" && !bytes.Contains(q.Body, []byte(`"past"`)) && bytes.Contains(data, []byte(`"commits":["`)):
			err = remove()
		}
		return data, err
	})
	s.commit("two")
	require.Greater(t, s.costs(), uint64(largePack))
	require.Equal(t, 2, starts)

	// The collection has the name of a commit, and not its files.
	remove = func() error {
		packs, err := filepath.Glob(filepath.Join(s.collection(), "objects", "pack", "*"))
		require.NotEmpty(t, packs)
		for _, p := range packs {
			err = os.Remove(p)
		}
		return err
	}
	s.commit("three")
	require.Greater(t, s.costs(), uint64(largePack))
	require.Equal(t, 4, starts)
	require.Contains(t, chantest.Next(t, s.hostSaid), "is made again")
	remove = func() error { return nil }
	s.commit("four")
	require.Less(t, s.costs(), uint64(smallPack))
	require.Equal(t, 5, starts)

	// A host that lacks it whatever it gets is not asked for ever.
	s.between(func(_ context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		if q.Name != "start" {
			return next(q)
		}
		starts++
		return []byte(`{"error":"it lacks it","class":"lacks"}`), nil
	})
	require.ErrorContains(t, s.submit(), "it lacks it")
	require.Equal(t, 7, starts)
}

// accepted submits a run to a host that is killed when it has accepted the order.
func (s *submitter) accepted() {
	s.t.Helper()
	s.between(func(_ context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		if q.Name != "start" {
			return next(q)
		}
		_, err := s.host.describe(q.Run, nameIn(s.t, &q))
		return []byte("{}"), err
	})
	require.NoError(s.t, s.submit())
	s.host.Stop()
	require.NoDirExists(s.t, filepath.Join(s.hostDir, "runs", s.last(), "repo.git"))
}

// A host that is killed before it has the mirror of a run continues with it, as long as the server has the pack.
func TestSlowAHostIsKilledBeforeItHasTheMirror(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	s.accepted()
	s.serve()
	mine, conducted := s.host.place(s.last())
	require.True(t, conducted)
	chantest.Next(t, mine.begun)
	require.NoError(t, mine.err)
	require.Equal(t, s.git("ls-tree", "-r", "HEAD"), s.onHost(s.last(), "ls-tree", "-r", s.git("rev-parse", "HEAD")))

	// The run builds on what the host has lost since, and the next one on what the server has.
	s.commit("two")
	s.accepted()
	require.NoError(t, os.RemoveAll(s.collection()))
	s.serve()
	require.Contains(t, chantest.Next(t, s.hostSaid), "no longer has the commits that the pack builds on: submit again")
	s.accepted()
	lost := s.last()
	require.NoError(t, s.js.DeleteStream(t.Context(), "CACHE"))
	s.serve()
	said := chantest.Next(t, s.hostSaid) + chantest.Next(t, s.hostSaid)
	require.Contains(t, said, "the server no longer has the files of run "+lost+", which it keeps for a day: submit again")
	require.NoError(t, s.submit(), "the host goes on")
}

// A pack that is not what was sealed, or is half of one, begins no run and is no harm to the host.
func TestSlowAHostRefusesADamagedPack(t *testing.T) {
	t.Parallel()
	s := newSubmitter(t)
	harm := func([]byte) (sealed string, stored []byte) { return "", nil }
	s.between(func(ctx context.Context, q call.In, next func(call.In) ([]byte, error)) ([]byte, error) {
		if q.Name != "start" {
			return next(q)
		}
		b, err := s.at.Open(ctx, q.Run)
		if err != nil {
			return nil, err
		}
		defer (&client.Host{Bus: b}).Close(ctx)
		o, err := depot.UnsealOrder(ctx, b, q.Run, nameIn(s.t, &q))
		if err != nil {
			return nil, err
		}
		pack, err := b.Cache().Get(ctx, o.Pack)
		if err != nil {
			return nil, err
		}
		o.Pack, pack = harm(pack)
		o.Size = int64(len(pack))
		name, data, err := o.Seal()
		if err == nil {
			err = b.Cache().Put(ctx, o.Pack, pack)
		}
		if err == nil {
			err = b.Put(ctx, name, data)
		}
		if err != nil {
			return nil, err
		}
		q.Body = []byte(spec.JSONText(name))
		return next(q)
	})
	for want, how := range map[string]func([]byte) (string, []byte){
		"it differs from the sealed object": func(pack []byte) (string, []byte) {
			return wire.Name(wire.SealedCommits, []byte("another")), pack
		},
		"the pack is not sound": func(pack []byte) (string, []byte) {
			half := pack[:len(pack)/2]
			return wire.Name(wire.SealedCommits, half), half
		},
	} {
		harm = how
		s.commit(want) // objects that are sound stay, whatever the name of their pack
		require.ErrorContains(t, s.submit(), want)
		left, err := os.ReadDir(filepath.Join(s.hostDir, "runs"))
		require.NoError(t, err)
		require.Empty(t, left)
		require.Zero(t, s.cached(), "what was refused is removed")
	}
	harm = func(pack []byte) (string, []byte) { return wire.Name(wire.SealedCommits, pack), pack }
	s.costs()
}
