package configs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// The greatest files that are read. They are far above anything written by hand, and small enough for a parser that
// needs quadratic time for the worst text.
const (
	maxRole    = 64 << 10
	maxProject = 64 << 10
	maxPlan    = 1 << 20
)

// readInside reads a file of a repository: a regular file below the root, bounded by most bytes. A link that leads out, a
// pipe or a device is refused without blocking.
func readInside(root *os.Root, name string, most int64) (text string, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0) // a pipe without a writer is not waited for
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	info, err := f.Stat()
	if err != nil {
		return "", err
	}
	if !info.Mode().IsRegular() {
		return "", errors.New("it is not a regular file")
	}
	return readBounded(f, most)
}

// File is a file that a person named, as it was read.
type File struct{ Name, Text string }

// Read reads the files that a person names; they may lie anywhere. The error joins one *FileError for each that cannot be read.
func Read(names ...string) ([]File, error) {
	files, errs := readAll(names)
	return files, errors.Join(errs...)
}

func readAll(names []string) (files []File, errs []error) {
	for _, name := range names {
		text, err := readNamed(name)
		if err != nil {
			errs = append(errs, cannotRead(name, err))
			continue
		}
		files = append(files, File{name, text})
	}
	return files, errs
}

func readNamed(name string) (text string, err error) {
	f, err := os.Open(filepath.Clean(name))
	if err != nil {
		return "", err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if info, err := f.Stat(); err != nil {
		return "", err
	} else if info.IsDir() {
		return "", errors.New("it is a directory")
	}
	return readBounded(f, maxPlan)
}

func readBounded(r io.Reader, most int64) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, most+1))
	if err != nil {
		return "", err
	}
	if int64(len(data)) > most {
		return "", fmt.Errorf("it is larger than %d KiB", most>>10)
	}
	return string(data), nil
}

// cannotRead makes a fault of a file that could not be read at all.
func cannotRead(file string, err error) error {
	message := "the file cannot be read: " + printable(reason(err), maxMessage)
	return &FileError{File: file, Faults: []Fault{{Message: message}}}
}

// reason is an error of the system without the path, which is in front of the message already.
func reason(err error) string {
	if inner := new(fs.PathError); errors.As(err, &inner) {
		return inner.Err.Error()
	}
	return err.Error()
}
