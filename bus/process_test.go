package bus

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"divisi/internal/testkit/chantest"
)

// runChild is the test binary as another process. Its first argument is what to do, the second the directory.
func runChild(role string) int {
	verb, dir, _ := strings.Cut(role, ":")
	ctx := context.Background()
	var err error
	switch verb {
	case "append":
		err = childAppend(ctx, dir)
	case "go-on":
		err = childGoOn(ctx, dir)
	case "attach":
		err = childAttach(ctx, dir)
	default:
		err = fmt.Errorf("no role %q", verb)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// childAppend appends for ever and prints each position that was acknowledged.
func childAppend(ctx context.Context, dir string) error {
	b, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	q, err := b.Queue(ctx, "generator", QueueOptions{})
	if err != nil {
		return err
	}
	var last uint64
	for i := 0; ; i++ {
		if last, err = b.Append(ctx, ConductorSubject("r", "x"), fmt.Append(nil, i), last); err != nil {
			return err
		}
		if err := b.Put(ctx, fmt.Sprint("object", i), fmt.Append(nil, i)); err != nil {
			return err
		}
		if err := b.Enqueue(ctx, TaskSubject("generator", "r", fmt.Sprint(i)), "id", nil); err != nil {
			return err
		}
		if i%2 == 0 { // some are with a worker, some acknowledged, when the end comes
			d, err := q.Next(ctx)
			if err == nil {
				err = d.Ack(ctx)
			}
			if err != nil {
				return err
			}
		}
		if _, err := fmt.Fprintln(os.Stdout, last); err != nil {
			return err
		}
	}
}

// childAttach asks the owner a question, and appends where the owner reads.
func childAttach(ctx context.Context, dir string) error {
	b, err := Attach(ctx, dir)
	if err != nil {
		return err
	}
	answer, err := b.Request(ctx, ControlSubject("r"), []byte(strconv.Itoa(os.Getpid())))
	if err != nil {
		return err
	}
	if _, err := b.Append(ctx, ConductorSubject("r", "x"), answer, 0); err != nil {
		return err
	}
	if _, err := Open(ctx, Options{Dir: dir}); err == nil {
		return fmt.Errorf("the directory could be opened twice")
	}
	return b.Close(ctx)
}

func child(t *testing.T, role, dir string) *exec.Cmd {
	t.Helper()
	cmd := exec.CommandContext(context.Background(), os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+role+":"+dir)
	cmd.Stderr = os.Stderr
	return cmd
}

// TestKill: what was acknowledged before kill -9 is there afterwards, and the directory is free at once.
func TestKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := child(t, "append", dir)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	var acked []uint64
	lines := bufio.NewScanner(out)
	for lines.Scan() {
		pos, err := strconv.ParseUint(lines.Text(), 10, 64)
		require.NoError(t, err)
		acked = append(acked, pos)
		if len(acked) == 60 {
			require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
		}
	}
	require.GreaterOrEqual(t, len(acked), 60, "the child said more than it was killed after")
	require.ErrorContains(t, cmd.Wait(), "killed")

	ctx := soon(t)
	_, err = Attach(ctx, dir)
	require.ErrorIs(t, err, ErrNoOwner, "a dead owner's server.json is no owner")
	o := fast(t)
	o.Dir = dir
	b := open(t, o)
	got := collect(t, b, ctx, RunFilter("r"), 0)
	require.GreaterOrEqual(t, len(got), len(acked))
	for i, pos := range acked {
		require.Equal(t, pos, got[i].Pos)
		require.Equal(t, fmt.Sprint(i), string(got[i].Data))
		data, err := b.Get(ctx, fmt.Sprint("object", i))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprint(i), string(data))
	}
	_, err = b.Append(ctx, ConductorSubject("r", "x"), nil, acked[0])
	require.ErrorIs(t, err, ErrFenced, "and the fence has not moved")
	_, err = b.Append(ctx, ConductorSubject("r", "x"), nil, got[len(got)-1].Pos)
	require.NoError(t, err)

	// The queue is whatever the crash left; purge and enqueue put it right.
	require.NoError(t, b.Purge(ctx, TaskFilter("r")))
	require.NoError(t, b.Enqueue(ctx, TaskSubject("generator", "r", "1"), "id", []byte("again")))
	d := next(t, queue(t, b, "generator", QueueOptions{}))
	require.Equal(t, "again", string(d.Data))
	require.Equal(t, 1, d.Number)
}

func TestAttachFromAnotherProcess(t *testing.T) {
	t.Parallel()
	backends(t, func(t *testing.T, o Options) {
		b, ctx := open(t, o), soon(t)
		cmd := child(t, "attach", o.Dir)
		asked := make(chan string, 1)
		_, err := b.Subscribe(ctx, ControlSubject("r"), func(m Message, reply func([]byte) error) {
			asked <- string(m.Data)
			if err := reply([]byte("hello")); err != nil {
				t.Error(err)
			}
		})
		require.NoError(t, err)
		cmd.Stdout = io.Discard
		require.NoError(t, cmd.Run())
		require.Equal(t, strconv.Itoa(cmd.Process.Pid), chantest.Next(t, asked))
		last, err := b.Last(ctx, RunFilter("r"))
		require.NoError(t, err)
		require.Equal(t, "hello", string(last.Data))
	})
}

// TestSlowKills kills an owner at any write, again and again on the same store: nothing that was acknowledged is lost, neither to
// who reads the store at rest nor to the next owner; from time to time the store is damaged besides.
func TestSlowKills(t *testing.T) {
	t.Parallel()
	dir, acked, rounds := t.TempDir(), map[uint64]string{}, 200
	random := rand.New(rand.NewPCG(1, 2)) // rounds that can be repeated
	for round := range rounds {
		cmd := child(t, "go-on", dir)
		out, err := cmd.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, cmd.Start())
		lines, until := bufio.NewScanner(out), 1+random.IntN(20)
		for n := 0; lines.Scan(); n++ {
			text, data, _ := strings.Cut(lines.Text(), " ")
			pos, err := strconv.ParseUint(text, 10, 64)
			require.NoError(t, err)
			acked[pos] = data
			if n == until {
				time.AfterFunc(time.Duration(random.IntN(2000))*time.Microsecond, func() { _ = cmd.Process.Kill() })
			}
		}
		require.ErrorContains(t, cmd.Wait(), "killed")
		switch round % 10 {
		case 3: // what the copy has is all that is left
			b := open(t, Options{Dir: dir})
			require.NoError(t, b.Close(context.Background()))
			require.NoError(t, os.RemoveAll(filepath.Join(dir, streamDir(streamEvents))))
		case 6:
			require.NoError(t, os.Remove(filepath.Join(dir, copyName)))
		case 9:
			path := filepath.Join(dir, copyName)
			info, err := os.Stat(path)
			require.NoError(t, err)
			require.NoError(t, os.Truncate(path, random.Int64N(info.Size()+1)))
		}
		got, lost := readAll(t, dir)
		require.Empty(t, lost, "round %d", round)
		had := map[uint64]string{}
		for _, m := range got {
			had[m.Pos] = string(m.Data)
		}
		for pos, data := range acked {
			require.Equal(t, data, had[pos], "round %d: %d", round, pos)
		}
	}
	t.Logf("%d kills, %d acknowledged", rounds, len(acked))
}

// childGoOn appends behind what there is, and prints each position that was acknowledged, with the text.
func childGoOn(ctx context.Context, dir string) error {
	b, err := Open(ctx, Options{Dir: dir})
	if err != nil {
		return err
	}
	last := uint64(0)
	m, err := b.Last(ctx, RunFilter("r"))
	if err == nil && m != nil {
		last = m.Pos
	}
	for i := 0; err == nil; i++ {
		text := fmt.Sprint(os.Getpid(), "-", i)
		if last, err = b.AppendFiltered(ctx, ConductorSubject("r", "x"), RunFilter("r"), []byte(text), last); err == nil {
			_, err = fmt.Fprintln(os.Stdout, last, text)
		}
	}
	return err
}
