package environment

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"divisi/contextscope/artifact"
)

// entry is one line of the list of a content: mode, size, time, digest or target, path.
type entry struct {
	mode    fs.FileMode
	size    int64
	changed int64
	// what is the digest of a file, the target of a link, and nothing of a directory.
	what string
}

// line writes an entry; digests and targets are quoted, because a target can be anything.
func (e *entry) line(to *bytes.Buffer, name string) {
	fmt.Fprintf(to, "%o %d %d %s %s\n", uint32(e.mode), e.size, e.changed, strconv.Quote(e.what), strconv.Quote(name))
}

func parseLine(line string) (e entry, name string, err error) {
	fields := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 4)
	if len(fields) != 4 {
		return e, "", fmt.Errorf("%.80q is no entry", line)
	}
	mode, err := strconv.ParseUint(fields[0], 8, 32)
	if err == nil {
		e.size, err = strconv.ParseInt(fields[1], 10, 64)
	}
	if err == nil {
		e.changed, err = strconv.ParseInt(fields[2], 10, 64)
	}
	e.mode = fs.FileMode(mode)
	quoted, cut := strconv.QuotedPrefix(fields[3])
	rest := strings.TrimPrefix(strings.TrimPrefix(fields[3], quoted), " ")
	if err == nil {
		err = cut
	}
	if err == nil {
		e.what, err = strconv.Unquote(quoted)
	}
	if err == nil {
		name, err = strconv.Unquote(rest)
	}
	if err != nil {
		return e, "", fmt.Errorf("%.80q is no entry: %w", line, err)
	}
	return e, name, nil
}

// eachEntry visits all that an environment in a directory has, but not the directories of its parts themselves: paths from the
// directory on, with slashes, parents first.
func eachEntry(dir string, visit func(name, file string, info fs.FileInfo) error) error {
	for _, part := range []string{treeDir, toolsDir, storesDir} {
		top := filepath.Join(dir, part)
		err := filepath.WalkDir(top, func(file string, d fs.DirEntry, err error) error {
			if err != nil || file == top {
				return err
			}
			info, err := d.Info()
			if err != nil {
				return err
			}
			name, err := filepath.Rel(dir, file)
			if err != nil {
				return err
			}
			return visit(filepath.ToSlash(name), file, info)
		})
		if err != nil {
			return fmt.Errorf("inspect the environment in %s: %w", dir, err)
		}
	}
	return nil
}

// entryOf reads what an entry is; digest reports whether the content of a file is read too.
func entryOf(file string, info fs.FileInfo, digest bool) (e entry, err error) {
	e = entry{mode: info.Mode()}
	switch {
	case info.IsDir(): // its size and time tell nothing: a view of it may have been mounted
	case info.Mode()&fs.ModeSymlink != 0:
		e.what, err = os.Readlink(file)
	default:
		e.size, e.changed = info.Size(), info.ModTime().UnixNano()
		if digest {
			e.what, err = digestOf(file)
		}
	}
	return e, err
}

// list reads all that there is and counts it.
func (m *Making) list() ([]byte, error) {
	var list bytes.Buffer
	err := eachEntry(m.Dir, func(name, file string, info fs.FileInfo) error {
		e, err := entryOf(file, info, true)
		if err != nil {
			return err
		}
		e.line(&list, name)
		m.manifest.Entries++
		m.manifest.Bytes += e.size
		return m.look(name, file, info)
	})
	m.manifest.Content = artifact.Digest(list.Bytes())
	return list.Bytes(), err
}

// check compares an environment with its list: every entry by its kind, rights, size and time; with whole by its content too. The
// error is a *DamagedError where they differ.
func (e *Environment) check(whole bool) error {
	data, err := os.ReadFile(filepath.Join(e.Dir, contentFile))
	if err != nil || artifact.Digest(data) != e.Content {
		return &DamagedError{e.ID, "the list of its content is not the one that was made"}
	}
	want := make(map[string]entry, e.Entries)
	for line := range strings.Lines(string(data)) {
		entry, name, err := parseLine(line)
		if err != nil {
			return &DamagedError{e.ID, err.Error()}
		}
		want[name] = entry
	}
	err = eachEntry(e.Dir, func(name, file string, info fs.FileInfo) error {
		had, ok := want[name]
		if !ok {
			return &DamagedError{e.ID, name + " is new"}
		}
		delete(want, name)
		is, err := entryOf(file, info, whole)
		if err != nil {
			return err
		}
		if !whole && info.Mode().IsRegular() {
			is.what = had.what
		}
		if is != had {
			return &DamagedError{e.ID, name + " has changed"}
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		return &DamagedError{e.ID, err.Error()}
	}
	for name := range want {
		if err == nil {
			return &DamagedError{e.ID, name + " is gone"}
		}
	}
	return err
}
