package bus

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stored makes a store that no process owns, of messages and objects with the given contents, without a copy of its log: as a
// program of before left it.
func stored(t testing.TB, contents ...[]byte) (dir string, want []Message) {
	t.Helper()
	dir, want = copiedStore(t, contents...)
	require.NoError(t, os.Remove(filepath.Join(dir, copyName)))
	return dir, want
}

// copiedStore is stored with the copy.
func copiedStore(t testing.TB, contents ...[]byte) (dir string, want []Message) {
	t.Helper()
	ctx, o := context.Background(), fast(t)
	b, err := Open(ctx, o)
	require.NoError(t, err)
	for i, data := range contents {
		subject := AttemptSubject("r", "local", "generator", fmt.Sprint("task-", i), 1)
		pos, err := b.Append(ctx, subject, data, 0)
		require.NoError(t, err)
		require.NoError(t, b.Put(ctx, fmt.Sprint("object ", i), data))
		want = append(want, Message{Subject: subject, Pos: pos, Data: data})
	}
	require.NoError(t, b.Close(ctx))
	return o.Dir, want
}

func small(n int) (out [][]byte) {
	for i := range n {
		out = append(out, bytes.Repeat([]byte(fmt.Sprintf(`[{"n":%d}]`, i)), i+1))
	}
	return out
}

// filesOf is everything below a directory, with its content and its time.
func filesOf(t testing.TB, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil || d.IsDir() {
			found[path] = info.ModTime().String()
			return err
		}
		data, err := os.ReadFile(path)
		found[path] = info.ModTime().String() + info.Mode().String() + sumOf(data)
		return err
	}))
	return found
}

// readAll returns the messages of a store that no process owns without their times, and what is said to be lost.
func readAll(t testing.TB, dir string) (got []Message, lost []string) {
	t.Helper()
	b, err := OpenFiles(dir, "")
	require.NoError(t, err)
	for m, err := range b.Read(t.Context(), RunFilter("r"), 0) {
		require.NoError(t, err)
		if m.Lost != "" {
			lost = append(lost, m.Lost)
			continue
		}
		m.Time = time.Time{}
		got = append(got, m)
	}
	require.NoError(t, b.Close(context.Background()))
	return got, lost
}

func blockOf(dir, stream string, number int) string {
	return filepath.Join(dir, "jetstream", "$G", "streams", stream, "msgs", fmt.Sprintf("%d.blk", number))
}

func TestFilesHaveWhatTheServerHas(t *testing.T) {
	t.Parallel()
	random, contents := rand.NewChaCha8([32]byte{}), small(3)
	for range 30 { // 8 MiB are a block, and full ones are compressed
		data := make([]byte, MaxData)
		_, _ = random.Read(data[:MaxData/2])
		contents = append(contents, data)
	}
	dir, want := stored(t, contents...)
	data, err := os.ReadFile(blockOf(dir, streamEvents, 1))
	require.NoError(t, err)
	require.Equal(t, "cmp", string(data[:3]), "a full block of the log is compressed")

	before := filesOf(t, dir)
	got, lost := readAll(t, dir)
	require.Empty(t, lost)
	require.Equal(t, want, got)
	b, err := OpenFiles(dir, "")
	require.NoError(t, err)
	for i, data := range contents {
		got, err := b.Get(t.Context(), fmt.Sprint("object ", i))
		require.NoError(t, err)
		require.Equal(t, data, got)
	}
	_, err = b.Get(t.Context(), "none")
	require.ErrorIs(t, err, ErrNotFound)
	last, err := b.Last(t.Context(), want[1].Subject)
	require.NoError(t, err)
	require.Equal(t, want[1].Pos, last.Pos)
	require.WithinDuration(t, time.Now(), last.Time, time.Minute)
	require.NoError(t, b.Close(t.Context()))
	require.Equal(t, before, filesOf(t, dir), "reading writes nothing")
	_, err = Check(dir)
	require.NoError(t, err)

	// A compressed block is lost as a whole; what is before and behind it is not.
	data, err = os.ReadFile(blockOf(dir, streamEvents, 2))
	require.NoError(t, err)
	data[len(data)/2] ^= 1
	require.NoError(t, os.WriteFile(blockOf(dir, streamEvents, 2), data, 0o600))
	got, lost = readAll(t, dir)
	require.Len(t, lost, 1)
	require.Contains(t, lost[0], fmt.Sprintf("%d messages are lost, ", len(want)-len(got)))
	require.Greater(t, len(want)-len(got), 5)
	require.Subset(t, want, []Message{got[0], got[len(got)-1]})
	require.Equal(t, want[len(want)-1], got[len(got)-1])
}

// Whatever byte is damaged, and how: every message that is left is as it was, and the loss is told. A length that is damaged at the
// end looks as a record does that was cut off while it was written.
func TestWhatIsBeforeABadByteIsRead(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(5)...)
	path := blockOf(dir, streamEvents, 1)
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for at := range whole {
		for _, with := range []byte{1, 0x80, 0xff} {
			bad := bytes.Clone(whole)
			bad[at] ^= with
			require.NoError(t, os.WriteFile(path, bad, 0o600))
			got, lost := readAll(t, dir)
			require.Subset(t, want, got, "byte %d", at)
			require.Less(t, len(got), len(want))
			if len(lost) == 0 {
				continue
			}
			_, err := Check(dir)
			require.ErrorIs(t, err, ErrDamaged)
		}
	}
}

func TestADamagedStoreStaysAsItIs(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(9)...)
	path := blockOf(dir, streamEvents, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	data[bytes.Index(data, want[4].Data)] ^= 1
	require.NoError(t, os.WriteFile(path, data, 0o600))

	got, lost := readAll(t, dir)
	require.Equal(t, want[:4], got)
	require.Equal(t, []string{"what follows 4 may be lost: " + path + " is damaged"}, lost)
	o := fast(t)
	o.Dir = dir
	_, err = Open(t.Context(), o)
	require.ErrorIs(t, err, ErrDamaged)
	require.ErrorContains(t, err, lost[0])
	after, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, data, after)
}

// What was cut off while it was written was never acknowledged: the store is opened as always.
func TestARecordThatWasCutOffIsNoDamage(t *testing.T) {
	t.Parallel()
	dir, want := stored(t, small(3)...)
	path := blockOf(dir, streamEvents, 1)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	start := bytes.Index(data, []byte(want[2].Subject)) - recordHead
	for end := start; end < len(data); end++ {
		require.NoError(t, os.WriteFile(path, data[:end], 0o600))
		got, lost := readAll(t, dir)
		require.Empty(t, lost)
		require.Equal(t, want[:2], got)
	}
	o := fast(t)
	o.Dir = dir
	got := collect(t, open(t, o), soon(t), RunFilter("r"), 0)
	require.Len(t, got, 2)
}

// recordOf is a message as the first file of the log has it.
func recordOf(t *testing.T, seq uint64, subject, text string) []byte {
	t.Helper()
	h, err := newHasher(streamEvents, 1)
	require.NoError(t, err)
	size := recordHead + len(subject) + len(text) + recordHash
	b := binary.LittleEndian.AppendUint32(nil, uint32(size))
	b = binary.LittleEndian.AppendUint64(b, seq)
	b = binary.LittleEndian.AppendUint64(b, 1)
	b = binary.LittleEndian.AppendUint16(b, uint16(len(subject)))
	b = append(append(b, subject...), text...)
	_, _ = h.hash.Write(append(bytes.Clone(b[4:20]), b[recordHead:]...))
	return binary.LittleEndian.AppendUint64(b, h.hash.Sum64())
}

func TestFilesOfALockedStoreAreNotRead(t *testing.T) {
	t.Parallel()
	o := fast(t)
	b := open(t, o)
	_, err := OpenFiles(o.Dir, "")
	require.ErrorAs(t, err, new(*LockedError))
	require.NoError(t, b.Close(t.Context()))
	release, err := share(o.Dir)
	require.NoError(t, err)
	got, lost := readAll(t, o.Dir)
	require.Empty(t, got)
	require.Empty(t, lost)
	_, err = Attach(t.Context(), o.Dir)
	require.ErrorIs(t, err, ErrNoOwner, "who reads is no owner")
	_, err = Open(t.Context(), o)
	require.ErrorAs(t, err, new(*LockedError), "but keeps others from writing meanwhile")
	require.NoError(t, release())
	open(t, o)
}

func FuzzBlock(f *testing.F) {
	dir, _ := stored(f, small(4)...)
	data, err := os.ReadFile(blockOf(dir, streamEvents, 1))
	require.NoError(f, err)
	f.Add(data, uint64(0))
	f.Add(data[:len(data)-5], uint64(3))
	f.Add([]byte(strings.Repeat("\x00", 99)), uint64(1))
	f.Fuzz(func(t *testing.T, data []byte, after uint64) {
		h, err := newHasher(streamEvents, 1)
		require.NoError(t, err)
		found, _ := h.places(data, after, true)
		for _, p := range found {
			r, ok := h.record(data[p.at:])
			require.True(t, ok)
			require.Equal(t, p.seq, r.seq&^removed)
			if p.gone {
				after = max(after, p.seq)
				continue
			}
			require.Greater(t, p.seq, after)
			after = p.seq
		}
	})
}
