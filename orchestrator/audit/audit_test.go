package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func all(t *testing.T, path string, since time.Time) (entries []Entry, errs []error) {
	t.Helper()
	for e, err := range Read(path, since) {
		if err != nil {
			errs = append(errs, err)
		} else {
			entries = append(entries, e)
		}
	}
	return entries, errs
}

// A line that a kill has cut hides none of the others, and the next process begins a line of its own.
func TestWhatWasDoneIsKeptOverAKill(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "audit.jsonl"), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	open := func() *Log {
		l, err := Open(path, func() time.Time { return now }, func(err error) { t.Error(err) })
		require.NoError(t, err)
		return l
	}
	entries, errs := all(t, path, time.Time{})
	require.Empty(t, entries)
	require.Empty(t, errs)

	l := open()
	l.Add(Entry{By: "ann", What: Submitted, Run: "r1"})
	l.Close()
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, append(data, data[:len(data)/2]...), 0o600)) // it was being written
	now = now.Add(time.Hour)
	l = open()
	l.Add(Entry{By: Operator, What: Revoked, Name: "w1", Detail: strings.Repeat("x", 2*maxText)})
	l.Close()

	entries, errs = all(t, path, time.Time{})
	require.Len(t, errs, 1)
	require.ErrorContains(t, errs[0], "audit.jsonl:2: the line is damaged")
	require.Len(t, entries, 2)
	require.Equal(t, Entry{Time: now.Add(-time.Hour), By: "ann", What: Submitted, Run: "r1"}, entries[0])
	require.Len(t, entries[1].Detail, maxText)
	entries, _ = all(t, path, now)
	require.Len(t, entries, 1)
	require.Equal(t, "w1", entries[0].Name)
}

// Who has no login can be refused as often as they like: the file grows by a bounded number of lines a minute.
func TestDenialsAreBounded(t *testing.T) {
	t.Parallel()
	path, now := filepath.Join(t.TempDir(), "audit.jsonl"), time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC)
	l, err := Open(path, func() time.Time { return now }, func(err error) { t.Error(err) })
	require.NoError(t, err)
	for i := range 3 * perMinute {
		l.Add(Entry{By: "join", What: Denied, Detail: fmt.Sprint(i)})
	}
	l.Add(Entry{By: Operator, What: Revoked, Name: "w1"})
	now = now.Add(time.Minute)
	for range 2 * perMinute {
		l.Add(Entry{By: "eve", What: Misasked, Verb: "\x1b[2J\n", Refused: "the call cannot be read"})
	}
	l.Close()
	entries, errs := all(t, path, time.Time{})
	require.Empty(t, errs)
	require.Len(t, entries, 2*perMinute+3)
	require.Equal(t, Revoked, entries[perMinute].What)
	require.Equal(t, fmt.Sprint(2*perMinute), entries[perMinute+1].Detail)
	(*Log)(nil).Add(Entry{})
}

// Who is refused often hides no refusal of another one.
func TestAFloodHidesNothingOfOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	now := func() time.Time { return time.Date(2026, 1, 2, 3, 4, 0, 0, time.UTC) }
	l, err := Open(path, now, func(err error) { t.Error(err) })
	require.NoError(t, err)
	for range 2 * perMinute {
		l.Add(Entry{By: "unknown", What: Denied})
	}
	l.Add(Entry{By: "eve", What: Asked, Verb: "cancel", Refused: "a viewer may not do that"})
	l.Close()
	entries, errs := all(t, path, time.Time{})
	require.Empty(t, errs)
	require.Len(t, entries, perMinute+2)
	require.Equal(t, "eve", entries[perMinute].By)
	require.Equal(t, fmt.Sprint(perMinute), entries[perMinute+1].Detail)
}

func TestADiskThatIsFullIsTold(t *testing.T) {
	t.Parallel()
	var told error
	l, err := Open("/dev/full", time.Now, func(err error) { told = err })
	if err != nil {
		t.Skip("the system has no /dev/full")
	}
	l.Add(Entry{By: "ann", What: Published})
	require.ErrorContains(t, told, "the audit log lacks publish by ann")
	l.Close()
}

// A line that the disk has taken in part, or one that is too long, hides none of those that follow.
func TestALineThatIsNotWholeHidesNoOther(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	l, err := Open(path, time.Now, func(err error) { t.Error(err) })
	require.NoError(t, err)
	l.Add(Entry{By: "ann", What: Submitted})
	_, err = l.file.WriteString("{\"time\":" + strings.Repeat("1", 2*maxLine))
	require.NoError(t, err)
	l.torn = true
	l.Add(Entry{By: strings.Repeat("b", 2*maxLine), What: Published})
	l.Add(Entry{By: Operator, What: Revoked})
	l.Close()
	entries, errs := all(t, path, time.Time{})
	require.Len(t, errs, 1)
	require.Len(t, entries, 3)
	require.Len(t, entries[1].By, maxText)
	require.Equal(t, Revoked, entries[2].What)
}
