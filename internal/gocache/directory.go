package gocache

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// id is the digest of an action or of its output.
type id [sha256.Size]byte

func toID(digest []byte) (id, error) {
	if len(digest) != sha256.Size {
		return id{}, fmt.Errorf("a digest has %d bytes in the place of %d", len(digest), sha256.Size)
	}
	return id(digest), nil
}

// entry is the record of a cache about an action: its output, and when that was made.
type entry struct {
	output id
	size   int64
	made   int64
}

func newEntry(output id, size int64) entry { return entry{output, size, time.Now().UnixNano()} }

// line is the file of an entry, as the go command writes it.
func (e entry) line(action id) string {
	return fmt.Sprintf("v1 %x %x %20d %20d\n", action, e.output, e.size, e.made)
}

// maxLine is more than a line has, in bytes.
const maxLine = 256

var errEntry = errors.New("the entry is not one of the go command's")

// parseEntry accepts what line writes, byte for byte, and nothing else.
func parseEntry(action id, line string) (entry, error) {
	var e entry
	fields := strings.Fields(line)
	if len(fields) != 5 {
		return e, errEntry
	}
	_, err := hex.Decode(e.output[:], []byte(fields[2][:min(len(fields[2]), hex.EncodedLen(len(e.output)))]))
	size, sizeErr := strconv.ParseInt(fields[3], 10, 64)
	made, madeErr := strconv.ParseInt(fields[4], 10, 64)
	e.size, e.made = size, made
	if err = errors.Join(err, sizeErr, madeErr); err != nil || size < 0 || made < 0 || e.line(action) != line {
		return entry{}, errEntry
	}
	return e, nil
}

// directory is a cache in the go command's format: XX/<action>-a is an entry, XX/<output>-d its output.
type directory string

func (d directory) file(of id, kind string) string {
	name := hex.EncodeToString(of[:])
	return filepath.Join(string(d), name[:2], name+"-"+kind)
}

// entry reads the entry of an action.
func (d directory) entry(action id) (entry, error) {
	f, _, err := open(d.file(action, "a"))
	if err != nil {
		return entry{}, err
	}
	defer f.Close() // only read from
	line, err := io.ReadAll(io.LimitReader(f, maxLine))
	if err != nil {
		return entry{}, err
	}
	return parseEntry(action, string(line))
}

// find returns the entry of an action and the file with its output, which has the entry's size. Like the go command it computes
// no digest here: that was done when the output was put.
func (d directory) find(action id) (entry, string, error) {
	e, err := d.entry(action)
	if err != nil {
		return e, "", err
	}
	path := d.file(e.output, "d")
	if programs, err := os.ReadDir(path); err == nil && len(programs) == 1 { // a program of "go run" or "go tool" has its name
		path = filepath.Join(path, programs[0].Name())
	}
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() != e.size) {
		err = errEntry
	}
	return e, path, err
}

// put adds an entry whose output is read from r, and returns the file with the output. A digest or a size that is not the entry's
// is an error and leaves nothing. What another process puts at the same time is the same.
func (d directory) put(action id, e entry, r io.Reader) (path string, err error) {
	path, digest := d.file(e.output, "d"), sha256.New()
	err = write(path, func(f io.Writer) error {
		n, err := io.Copy(io.MultiWriter(f, digest), io.LimitReader(r, e.size+1))
		if err == nil && (n != e.size || id(digest.Sum(nil)) != e.output) {
			err = fmt.Errorf("output %x: %w: its size or digest is wrong", e.output, errEntry)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	return path, write(d.file(action, "a"), func(f io.Writer) error {
		_, err := io.WriteString(f, e.line(action))
		return err
	})
}

// write makes a file at once: a reader sees all of it, or the one before.
func write(path string, fill func(io.Writer) error) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), "new-*-d") // the go command removes it, where this process could not
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_ = os.Remove(f.Name()) // it goes with the cache
		}
	}()
	err = fill(f)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// open opens a regular file. It does not wait for the writer of a pipe.
func open(path string) (*os.File, int64, error) {
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = errEntry
	}
	if err != nil {
		_ = f.Close() // only opened
		return nil, 0, err
	}
	return f, info.Size(), nil
}
