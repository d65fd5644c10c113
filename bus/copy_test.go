package bus

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func copyOf(t *testing.T, dir string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, copyName))
	require.NoError(t, err)
	return data
}

func TestAStoppedStoreIsReadFromItsCopy(t *testing.T) {
	t.Parallel()
	dir, want := copiedStore(t, append(small(4), []byte("two\nlines"), nil, []byte(" ~= "))...)
	info, err := os.Stat(filepath.Join(dir, copyName))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
	lines := strings.Split(string(copyOf(t, dir)), "\n")
	require.Len(t, lines, len(want)+2, "the last one tells that it has all of the log")
	require.Contains(t, lines[0], " 0 1 ")
	require.Contains(t, lines[0], ` ev.r.a.local.generator.task-0.1 =[{"n":0}]`)
	require.Contains(t, lines[len(want)], fmt.Sprintf(" %d %d ", len(want), len(want)))

	require.NoError(t, os.Rename(filepath.Join(dir, storeDir), filepath.Join(dir, "away")))
	before := filesOf(t, dir)
	got, lost := readAll(t, dir)
	require.Empty(t, lost)
	for i := range got {
		require.Equal(t, string(want[i].Data), string(got[i].Data))
		require.Equal(t, []any{want[i].Subject, want[i].Pos}, []any{got[i].Subject, got[i].Pos})
	}
	require.Len(t, got, len(want))
	require.Equal(t, before, filesOf(t, dir), "reading writes nothing")
}

// A damaged byte of a copy changes no message: the store has it.
func TestOneBadByteOfTheCopyCostsNothing(t *testing.T) {
	t.Parallel()
	dir, want := copiedStore(t, small(4)...)
	whole := copyOf(t, dir)
	for at := range whole {
		for _, with := range []byte{1, 0x80} {
			bad := bytes.Clone(whole)
			bad[at] ^= with
			require.NoError(t, os.WriteFile(filepath.Join(dir, copyName), bad, 0o600))
			got, lost := readAll(t, dir)
			require.Equal(t, want, got, "byte %d", at)
			require.Empty(t, lost)
		}
		require.NoError(t, os.WriteFile(filepath.Join(dir, copyName), whole[:at], 0o600))
		got, lost := readAll(t, dir)
		require.Equal(t, want, got, "up to %d", at)
		require.Empty(t, lost)
	}
}

// harmed is a damaged store: its messages, and its reports.
type harmed struct {
	name    string
	damage  func(t *testing.T, dir string)
	rest    string // what a reader is told while no process owns it
	remade  string // why it was made again
	cut     string // what of the end is lost
	refused string // why it is not opened
	kept    int    // how many of ten messages
	objects int    // and of the objects
}

func edit(name string, change func(data []byte) []byte) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		path := filepath.Join(dir, name)
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, change(data), 0o600))
	}
}

func flip(text string) func([]byte) []byte {
	return func(data []byte) []byte {
		data[bytes.Index(data, []byte(text))] ^= 1
		return data
	}
}

func upTo(text string) func([]byte) []byte {
	return func(data []byte) []byte { return data[:bytes.Index(data, []byte(text))] }
}

func without(name string) func(*testing.T, string) {
	return func(t *testing.T, dir string) { t.Helper(); require.NoError(t, os.RemoveAll(filepath.Join(dir, name))) }
}

func both(all ...func(*testing.T, string)) func(*testing.T, string) {
	return func(t *testing.T, dir string) {
		t.Helper()
		for _, f := range all {
			f(t, dir)
		}
	}
}

func TestADamagedStoreIsMadeAgain(t *testing.T) {
	t.Parallel()
	block := filepath.Join(streamDir(streamEvents), "msgs", "1.blk")
	killed := func(n int) func(*testing.T, string) { // its owner was killed when the copy had n lines
		return edit(copyName, func(data []byte) []byte {
			return []byte(strings.Join(strings.SplitAfter(string(data), "\n")[:n], ""))
		})
	}
	for _, c := range []harmed{
		{name: "truncated block", damage: edit(block, upTo("task-6")), remade: "has nothing behind 6", kept: 10, objects: 10},
		{name: "flipped byte", damage: edit(block, flip("task-6")), remade: "what follows 6 may be lost", kept: 10, objects: 10},
		{name: "missing block", damage: without(block), remade: "has nothing behind 0", kept: 10, objects: 10},
		{name: "missing store", damage: without(storeDir), remade: "has nothing behind 0", kept: 10},
		{
			name: "missing meta", damage: without(filepath.Join(streamDir(streamEvents), "meta.inf")),
			remade: "its server reads stream EV up to 0 of 10", kept: 10, objects: 10,
		},
		{
			name: "damaged meta of objects", damage: edit(filepath.Join(streamDir(streamObjects), "meta.inf"), upTo("}")),
			remade: "its server reads stream OBJ up to 0 of 10", kept: 10, objects: 10,
		},
		{name: "copy truncated within a line", damage: edit(copyName, upTo("task-6")), kept: 10, objects: 10},
		{name: "copy with a flipped byte", damage: edit(copyName, flip("task-6")), kept: 10, objects: 10},
		{name: "missing copy", damage: without(copyName), kept: 10, objects: 10},
		{
			name: "copy with other lines", kept: 10, objects: 10, damage: edit(copyName, func(data []byte) []byte {
				m := Message{Pos: 4, Subject: ConductorSubject("r", "forged"), Time: time.Unix(1, 0), Data: []byte("[]")}
				lines := bytes.SplitAfter(data, []byte("\n"))
				lines[3] = lineOf(7, &m)
				return bytes.Join(lines, nil)
			}),
		},
		{name: "copy behind", damage: killed(4), kept: 10, objects: 10},
		{
			name: "copy behind a truncated block", damage: both(killed(8), edit(block, upTo("task-6"))),
			rest: "what follows 8 may be lost: the end of the log was cut off", remade: "has nothing behind 6",
			cut: "what follows 8 may be lost", kept: 8, objects: 10,
		},
		{
			name: "both damaged at the end", rest: "messages are lost, 9 to 10", remade: "has nothing behind 6",
			damage: both(edit(block, upTo("task-6")), edit(copyName, flip("task-8")), edit(copyName, flip("task-9"))),
			cut:    "2 messages are lost, 9 to 10", kept: 8, objects: 10,
		},
		{
			name: "both damaged within", damage: both(edit(block, flip("task-6")), edit(copyName, flip("task-6"))),
			rest: "message 7 is lost", refused: "message 7 is lost", kept: 9,
		},
		{
			name: "damaged object", damage: edit(filepath.Join(streamDir(streamObjects), "msgs", "1.blk"), flip("object")),
			refused: "of stream OBJ what follows 0 may be lost", kept: 10,
		},
	} {
		t.Run(c.name, func(t *testing.T) { t.Parallel(); c.try(t) })
	}
}

func (c *harmed) try(t *testing.T) {
	t.Helper()
	dir, want := copiedStore(t, small(10)...)
	c.damage(t, dir)
	before := filesOf(t, dir)
	got, lost := readAll(t, dir)
	require.Len(t, got, c.kept)
	require.Subset(t, want, got)
	require.Contains(t, strings.Join(lost, ""), c.rest)
	require.Equal(t, c.rest == "", len(lost) == 0)
	require.Equal(t, before, filesOf(t, dir))

	o := fast(t)
	o.Dir = dir
	b, err := Open(t.Context(), o)
	if c.refused != "" {
		require.ErrorIs(t, err, ErrDamaged)
		require.ErrorContains(t, err, c.refused)
		require.Equal(t, before, filesOf(t, dir))
		return
	}
	require.NoError(t, err)
	require.Contains(t, b.Remade(), c.remade)
	require.Equal(t, c.remade == "", b.Remade() == "")
	require.Contains(t, b.CutOff(), c.cut)
	require.Equal(t, c.cut == "", b.CutOff() == "")
	after := collect(t, b, soon(t), RunFilter("r"), 0)
	for i := range after {
		after[i].Time = time.Time{}
	}
	require.Equal(t, got, after)
	objects := 0
	for i := range want {
		if _, err := b.Get(t.Context(), fmt.Sprint("object ", i)); err == nil {
			objects++
		}
	}
	require.Equal(t, c.objects, objects)
	_, err = b.Append(t.Context(), want[c.kept-1].Subject, []byte("stale"), want[c.kept-1].Pos-1)
	require.ErrorIs(t, err, ErrFenced)
	_, err = b.Append(t.Context(), want[c.kept-1].Subject, []byte("next"), want[c.kept-1].Pos)
	require.NoError(t, err)
	require.NoError(t, b.Close(context.Background()))
	kept, err := filepath.Glob(filepath.Join(dir, damaged+"*"))
	require.NoError(t, err)
	require.Len(t, kept, min(len(b.Remade()), 1)*min(1, strings.Count(fmt.Sprint(before), "jetstream")))

	got, lost = readAll(t, dir)
	require.Len(t, got, c.kept+1)
	require.Empty(t, lost)
	b = open(t, o)
	require.Empty(t, b.Remade(), "once")
}

func TestAnEventOfAnotherConnectionIsInTheCopy(t *testing.T) {
	t.Parallel()
	o := fast(t)
	b := open(t, o)
	other, err := Attach(t.Context(), o.Dir)
	require.NoError(t, err)
	defer other.Close(context.Background())
	acked := make(chan uint64)
	go func() {
		defer close(acked)
		for last := uint64(0); ; acked <- last {
			pos, err := other.Append(context.Background(), ConductorSubject("r", "x"), []byte("[]"), last)
			if err != nil {
				return
			}
			last = pos
		}
	}()
	for range 20 {
		<-acked
	}
	done := make(chan error)
	go func() { done <- b.Close(context.Background()) }()
	last := uint64(0)
	for pos := range acked {
		last = pos
	}
	require.NoError(t, <-done)
	require.NoError(t, os.RemoveAll(filepath.Join(o.Dir, storeDir)))
	got, lost := readAll(t, o.Dir)
	require.Empty(t, lost)
	require.GreaterOrEqual(t, got[len(got)-1].Pos, last)
}

// A disk without room for the copy keeps no event from the log; the next owner completes the copy.
func TestACopyThatCannotBeWrittenKeepsNothingFromTheLog(t *testing.T) {
	t.Parallel()
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("there is no device that is always full")
	}
	o := fast(t)
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	b.keeper.halt()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	require.NoError(t, err)
	require.NoError(t, b.keeper.file.Close())
	b.keeper.file = full
	b.keeper.follow()
	for i := range 5 {
		_, err := b.Append(t.Context(), ConductorSubject("r", fmt.Sprint("x", i)), []byte("[]"), 0)
		require.NoError(t, err)
	}
	require.NoError(t, b.Close(context.Background()))
	require.Empty(t, copyOf(t, o.Dir))
	got, lost := readAll(t, o.Dir)
	require.Len(t, got, 5)
	require.Empty(t, lost)
	require.NoError(t, open(t, o).Close(context.Background()))
	require.Equal(t, 6, bytes.Count(copyOf(t, o.Dir), []byte("\n")))
}

func TestARemovedRunIsNotInTheCopy(t *testing.T) {
	t.Parallel()
	o := fast(t)
	b, err := Open(t.Context(), o)
	require.NoError(t, err)
	for _, run := range []string{"r1", "r2"} {
		_, err := b.Append(t.Context(), ConductorSubject(run, "x"), []byte("[]"), 0)
		require.NoError(t, err)
	}
	_, err = b.Forget(t.Context(), "r1")
	require.NoError(t, err)
	require.NoError(t, b.Close(context.Background()))
	require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r1.")
	require.Contains(t, string(copyOf(t, o.Dir)), "ev.r2.")
	require.Empty(t, open(t, o).Remade())
}

// The process that removes a run need not be the one that keeps the copy, and that may be killed.
func TestARunThatAnotherConnectionRemovedDoesNotComeBack(t *testing.T) {
	t.Parallel()
	for name, killed := range map[string]bool{"closed": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := fast(t)
			b, err := Open(t.Context(), o)
			require.NoError(t, err)
			for _, run := range []string{"r1", "r", "r3"} {
				_, err := b.Append(t.Context(), ConductorSubject(run, "x"), []byte("[]"), 0)
				require.NoError(t, err)
			}
			require.Eventually(t, func() bool {
				return bytes.Contains(copyOf(t, o.Dir), []byte("ev.r3."))
			}, 10*time.Second, time.Millisecond)
			at, err := OwnerOptions(o.Dir)
			require.NoError(t, err)
			other, err := Open(t.Context(), at)
			require.NoError(t, err)
			for _, run := range []string{"r1", "r3"} {
				_, err = other.Forget(t.Context(), run)
				require.NoError(t, err)
			}
			require.NoError(t, other.Close(context.Background()))
			left := copyOf(t, o.Dir)
			require.NoError(t, b.Close(context.Background()))
			if killed {
				require.NoError(t, os.WriteFile(filepath.Join(o.Dir, copyName), left, 0o600))
			} else {
				require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r1.")
				require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r3.")
			}
			got, lost := readAll(t, o.Dir)
			require.Len(t, got, 1)
			require.Empty(t, lost)
			b, err = Open(t.Context(), o)
			require.NoError(t, err)
			require.Empty(t, b.Remade())
			require.NoError(t, b.Close(context.Background()))
			require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r1.")
			require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r3.")
			require.Contains(t, string(copyOf(t, o.Dir)), "ev.r.")
		})
	}
}

func TestARunThatAnotherConnectionRemovedLeavesTheCopyMeanwhile(t *testing.T) {
	t.Parallel()
	o := fast(t)
	b := open(t, o)
	for _, run := range []string{"r1", "r2"} {
		_, err := b.Append(t.Context(), ConductorSubject(run, "x"), []byte("[]"), 0)
		require.NoError(t, err)
	}
	require.NoError(t, b.keeper.renew(t.Context()))
	at, err := OwnerOptions(o.Dir)
	require.NoError(t, err)
	other := open(t, at)
	_, err = other.Forget(t.Context(), "r1")
	require.NoError(t, err)
	require.NoError(t, b.keeper.renew(t.Context()))
	require.NotContains(t, string(copyOf(t, o.Dir)), "ev.r1.")
	require.Eventually(t, func() bool {
		return bytes.Contains(copyOf(t, o.Dir), []byte("ev.r2."))
	}, 10*time.Second, time.Millisecond)
	require.NoError(t, b.Close(context.Background()))
	require.NoError(t, b.keeper.anew(), "nothing is begun behind the end")
}

// A program that keeps no copy can have had the store since: the end that the copy tells of is not that of the log then.
func TestAnEndThatIsNotThatOfTheLastOwnerIsNone(t *testing.T) {
	t.Parallel()
	dir, want := copiedStore(t, small(2)...)
	old := copyOf(t, dir)
	b, err := Open(t.Context(), Options{Dir: dir, Sync: new(bool)})
	require.NoError(t, err)
	_, err = b.Append(t.Context(), ConductorSubject("r", "x"), []byte("[]"), 0)
	require.NoError(t, err)
	require.NoError(t, b.Close(context.Background()))
	require.NoError(t, os.WriteFile(filepath.Join(dir, copyName), old, 0o600))
	got, lost := readAll(t, dir)
	require.Len(t, got, len(want)+1)
	require.Empty(t, lost)
}

func FuzzLine(f *testing.F) {
	f.Add(lineOf(3, &Message{Pos: 4, Subject: "ev.r.m.x", Data: []byte("[]"), Time: time.Unix(5, 6)}))
	f.Add([]byte("00000000 1 2 3 ev.x =\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		c := &copied{}
		c.add(bytes.TrimSuffix(line, []byte("\n")), 0)
		if after, m, ok := lineIn(bytes.TrimSuffix(line, []byte("\n"))); ok {
			again, same, ok := lineIn(bytes.TrimSuffix(lineOf(after, &m), []byte("\n")))
			require.True(t, ok)
			require.Equal(t, after, again)
			require.Equal(t, m, same)
		}
	})
}
