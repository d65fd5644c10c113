// Package audit keeps the audit of a server: one line of JSON for each, appended and never changed. Its input are names that the
// server's permissions prove, never one that a message has; its output is a file that other programs can ship.
package audit

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"sync"
	"time"
)

// What is done.
const (
	TokenMade  = "token"      // a token was made; Detail is what it admits
	Joined     = "join"       // a member joined
	Denied     = "denied"     // a token was refused, or a worker stopped that kept to no bounds; Detail is why
	Revoked    = "revoke"     // a member or a token was revoked
	Rotated    = "rotate"     // a token was made that gives a member another key
	Submitted  = "submit"     // a run was submitted: its commands are trusted by who did
	Published  = "publish"    // the branch of a run was published
	Resumed    = "resume"     // a run goes on
	Removed    = "remove"     // a run was removed
	BackedUp   = "backup"     // the server was copied; Detail is where to
	Restored   = "restore"    // the server is a copy; Detail is of when
	Isolated   = "quarantine" // a worker was put into quarantine; Detail is since when
	Asked      = "ask"        // a run was asked to do what Verb says
	Misasked   = "refused"    // a call was refused before anything was done; Verb is its name
	Overflowed = "left out"   // Detail is how many lines a minute had beyond the most
)

// Operator is the owner of the server's directory: it is asked on its own machine.
const Operator = "operator"

// Entry is one line.
type Entry struct {
	Time time.Time `json:"time"`
	// By is the member as the server's permissions prove it, Operator, or "local" for a process of the server's machine.
	By   string `json:"by"`
	What string `json:"what"`
	// Name is the member or token that it is about, Run and Task what was asked, Verb what for.
	Name   string `json:"name,omitempty"`
	Run    string `json:"run,omitempty"`
	Task   string `json:"task,omitempty"`
	Verb   string `json:"verb,omitempty"`
	Detail string `json:"detail,omitempty"`
	// Refused is why nothing came of it.
	Refused string `json:"refused,omitempty"`
}

const (
	// perMinute bounds the lines of what one caller was refused: those without a login, who count as one, can make them, and who
	// may only read.
	perMinute = 60
	// maxText bounds a text of a line, in bytes.
	maxText = 300
)

// Log appends to one file. Its methods may be called by many goroutines.
type Log struct {
	clock func() time.Time
	fail  func(error)

	mu     sync.Mutex
	file   *os.File
	minute time.Time
	denied map[string]int // in that minute, by the caller
	torn   bool           // the last line may have been written in part
}

// Open opens the file, which is made where there is none. fail is told what could not be written: what is done goes on.
func Open(path string, clock func() time.Time, fail func(error)) (*Log, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR|os.O_APPEND, 0o600)
	if err == nil {
		if err = endLine(f); err != nil {
			err = errors.Join(err, f.Close())
		}
	}
	if err != nil {
		return nil, fmt.Errorf("open the audit log: %w", err)
	}
	return &Log{clock: clock, fail: fail, file: f}, nil
}

// endLine ends a line that a kill has cut, so that the next one is whole.
func endLine(f *os.File) error {
	info, err := f.Stat()
	if err != nil || info.Size() == 0 || !info.Mode().IsRegular() {
		return err
	}
	last := []byte{0}
	if _, err = f.ReadAt(last, info.Size()-1); err == nil && last[0] != '\n' {
		_, err = f.WriteString("\n")
	}
	return err
}

// Add appends a line, and returns when it is on the disk. A nil Log keeps nothing.
func (l *Log) Add(e Entry) {
	if l == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	e.Time = l.clock().UTC()
	if (e.What == Denied || e.Refused != "") && !l.room(e.Time, e.By) {
		return
	}
	l.write(e)
}

// room reports whether a refusal of this minute is still kept. The first of a later one tells how many were not.
func (l *Log) room(now time.Time, by string) bool {
	if minute := now.Truncate(time.Minute); !minute.Equal(l.minute) {
		l.overflow(now)
		l.minute, l.denied = minute, map[string]int{}
	}
	l.denied[by]++
	return l.denied[by] <= perMinute
}

// overflow tells how many refusals of the minute were not kept.
func (l *Log) overflow(now time.Time) {
	more := 0
	for _, n := range l.denied {
		more += max(0, n-perMinute)
	}
	if more > 0 {
		l.write(Entry{Time: now, By: Operator, What: Overflowed, Detail: fmt.Sprint(more)})
	}
}

func (l *Log) write(e Entry) {
	for _, text := range []*string{&e.By, &e.Name, &e.Run, &e.Task, &e.Verb, &e.Detail, &e.Refused} {
		*text = (*text)[:min(len(*text), maxText)]
	}
	data, err := json.Marshal(e)
	if l.torn {
		data = append([]byte{'\n'}, data...)
	}
	if err == nil {
		_, err = l.file.Write(append(data, '\n'))
		l.torn = err != nil
	}
	if err == nil {
		err = l.file.Sync()
	}
	if err != nil {
		l.fail(fmt.Errorf("the audit log lacks %s by %s: %w", e.What, e.By, err))
	}
}

// Close closes the file.
func (l *Log) Close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.overflow(l.clock().UTC())
	clear(l.denied)
	if err := l.file.Close(); err != nil {
		l.fail(fmt.Errorf("close the audit log: %w", err))
	}
}

// maxLine is more than a line takes, in bytes.
const maxLine = 16 << 10

// Read reads the lines of a file since a time, the oldest first. A line that cannot be read, such as one that a kill has cut, is
// an error, and the others follow. No file has no lines.
func Read(path string, since time.Time) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		f, err := os.Open(path)
		if errors.Is(err, fs.ErrNotExist) {
			return
		}
		if err != nil {
			yield(Entry{}, fmt.Errorf("read the audit log: %w", err))
			return
		}
		defer f.Close() // read only
		in := bufio.NewReaderSize(f, maxLine)
		for n := 1; ; n++ {
			line, err := nextLine(in)
			if err != nil {
				if !errors.Is(err, io.EOF) {
					yield(Entry{}, fmt.Errorf("read the audit log %s: %w", path, err))
				}
				return
			}
			var e Entry
			err = json.Unmarshal(line, &e)
			switch {
			case len(line) == 0:
				continue
			case err != nil:
				err = fmt.Errorf("%s:%d: the line is damaged: %w", path, n, err)
			case e.Time.Before(since):
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// nextLine reads a line without its end; of one that is too long, its beginning.
func nextLine(in *bufio.Reader) ([]byte, error) {
	line, err := in.ReadSlice('\n')
	if len(line) > 0 && errors.Is(err, io.EOF) {
		err = nil
	}
	first := bytes.Clone(bytes.TrimSuffix(line, []byte("\n")))
	for errors.Is(err, bufio.ErrBufferFull) {
		_, err = in.ReadSlice('\n')
	}
	return first, err
}
