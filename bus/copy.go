package bus

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// copyName is the file beside a store with a copy of its log: one line for each message, SUM AFTER POSITION TIME SUBJECT DATA.
// The sum covers the rest of the line; after is the position of the line before, so that a line that is missing is noticed.
const copyName = "events.log"

// ended is the subject of the line by which an owner that lets the store go reports that the copy has all of the log. Its data is
// the note of that owner in the lock: a program that keeps no copy can have had the store since.
const ended = "end"

// The data of a line begins with how it is written: as it is, or in base64 where it has several lines.
const (
	plainData   = '='
	encodedData = '~'
)

// lineFields are the fields of a line before its data, without the sum.
const lineFields = 4

// sumLength is that of the sum of a line, in hexadecimal digits.
const sumLength = 8

var sums = crc32.MakeTable(crc32.Castagnoli)

// lineOf writes a message of a log that follows another one.
func lineOf(after uint64, m *Message) []byte {
	line := fmt.Appendf(make([]byte, sumLength, len(m.Data)+128), " %d %d %d %s ", after, m.Pos, m.Time.UnixNano(), m.Subject)
	if bytes.ContainsRune(m.Data, '\n') {
		line = base64.StdEncoding.AppendEncode(append(line, encodedData), m.Data)
	} else {
		line = append(append(line, plainData), m.Data...)
	}
	copy(line, fmt.Sprintf("%08x", crc32.Checksum(line[sumLength:], sums)))
	return append(line, '\n')
}

// lineIn reads what lineOf wrote, without the end of the line.
func lineIn(line []byte) (after uint64, m Message, ok bool) {
	if len(line) < sumLength {
		return 0, m, false
	}
	sum, err := strconv.ParseUint(string(line[:sumLength]), 16, 32)
	fields := bytes.SplitN(line[sumLength:], []byte(" "), lineFields+2)
	if err != nil || uint32(sum) != crc32.Checksum(line[sumLength:], sums) || len(fields) != lineFields+2 {
		return 0, m, false
	}
	var errs [3]error
	var at int64
	after, errs[0] = strconv.ParseUint(string(fields[1]), 10, 64)
	m.Pos, errs[1] = strconv.ParseUint(string(fields[2]), 10, 64)
	at, errs[2] = strconv.ParseInt(string(fields[3]), 10, 64)
	subject, data := fields[lineFields], fields[lineFields+1]
	if errors.Join(errs[:]...) != nil || len(data) == 0 {
		return 0, m, false
	}
	m.Subject, m.Time = string(subject), time.Unix(0, at).UTC()
	if m.Data = data[1:]; data[0] == encodedData {
		m.Data, err = base64.StdEncoding.DecodeString(string(m.Data))
	}
	return after, m, err == nil
}

// copied is the copy of a log, as its file has it.
type copied struct {
	file   *os.File // nil where there is none
	places []place
	gaps   []gap
	last   uint64 // the newest position that it names
	bad    int    // how many lines are damaged
	ended  bool
	owner  []byte // in the line that tells so
}

// readCopy reads the copy of the log under a directory, up to a line that was cut off while it was written.
func readCopy(dir string) (*copied, error) {
	c := &copied{}
	f, err := os.Open(filepath.Join(dir, copyName))
	if err == nil {
		c.file = f
		err = c.read(bufio.NewReaderSize(f, 1<<20))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, errors.Join(fmt.Errorf("%w: read the copy of the log: %w", ErrUnavailable, err), c.close())
	}
	if owner, err := ownerNote(dir); c.ended && (err == nil || !errors.Is(err, fs.ErrNotExist)) {
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.ended = bytes.Equal(owner, c.owner)
	}
	if !c.ended {
		c.gaps = append(c.gaps, gap{c.last + 1, ever, "the copy of the log ends there"})
	}
	return c, nil
}

func (c *copied) read(r *bufio.Reader) error {
	for at := 0; ; {
		line, err := r.ReadSlice('\n')
		if errors.Is(err, bufio.ErrBufferFull) {
			var rest []byte
			line = bytes.Clone(line)
			rest, err = r.ReadBytes('\n')
			line = append(line, rest...)
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.add(line[:len(line)-1], at)
		at += len(line)
	}
}

// add notes the line at a place of the file.
func (c *copied) add(line []byte, at int) {
	after, m, ok := lineIn(line)
	isEnd := m.Subject == ended
	if !ok || after < c.last || m.Pos < after || m.Pos == after && !isEnd {
		c.bad, c.ended = c.bad+1, false
		return
	}
	if after > c.last {
		c.gaps = append(c.gaps, gap{c.last + 1, after, "the copy of the log is damaged"})
	}
	if c.last, c.ended, c.owner = m.Pos, isEnd, bytes.Clone(m.Data); !isEnd {
		c.places = append(c.places, place{seq: m.Pos, subject: m.Subject, block: inCopy, at: at, size: len(line)})
	}
}

// whole reports whether a log can be read from its copy alone.
func (c *copied) whole() bool { return c.ended && c.bad == 0 && len(c.gaps) == 0 }

// upTo is the size of the part of the copy that has the first messages of a log, the position of the last of them, and how many
// they are.
func (c *copied) upTo(log []place) (size int64, last, lines uint64) {
	for i, p := range c.places {
		if i >= len(log) || log[i].seq != p.seq || int64(p.at) != size {
			break
		}
		size, last, lines = int64(p.at+p.size+1), p.seq, lines+1
	}
	return size, last, lines
}

func (c *copied) message(p *place) (*jetstream.RawStreamMsg, error) {
	line := make([]byte, p.size)
	if _, err := c.file.ReadAt(line, int64(p.at)); err != nil {
		return nil, fmt.Errorf("%w: read the copy of the log: %w", ErrUnavailable, err)
	}
	_, m, ok := lineIn(line)
	if !ok || m.Pos != p.seq {
		return nil, fmt.Errorf("%w: %s changed while it was read", ErrUnavailable, c.file.Name())
	}
	return &jetstream.RawStreamMsg{Subject: m.Subject, Sequence: m.Pos, Data: m.Data, Time: m.Time}, nil
}

func (c *copied) close() error {
	if c == nil || c.file == nil {
		return nil
	}
	return c.file.Close()
}
