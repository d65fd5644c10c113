package memory

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"
	"unicode"

	"divisi/internal/text"
)

// Place is where a repository keeps its notes, below its top.
const Place = ".divisi/memory"

const (
	// maxNotes is how many notes are read, the first by name, and maxBytes how much of them: all are held in memory.
	maxNotes = 10_000
	maxBytes = 16 << 20
	// maxEntries bounds the walk over a directory that holds more than notes.
	maxEntries = 4 * maxNotes
)

// ErrNotFound reports that there is no note, or no proposal, of the name.
var ErrNotFound = errors.New("not found")

var (
	errNotRegular   = errors.New("it is not a regular file")
	errNotDirectory = errors.New("it is not a directory, and links are not followed here")
)

// notesDir is the directory of notes of one repository, and nothing else: a link in its place is not followed, wherever it
// leads.
type notesDir struct{ repo string }

// file is one note as the directory tells it.
type file struct {
	name  string
	size  int64
	mtime int64
}

func (f file) path() string { return path.Join(Place, f.name+".md") }

// open opens the directory of notes. Where there is none it is made, or the result is nil.
func (d notesDir) open(create bool) (*os.Root, error) {
	dir, err := os.OpenRoot(d.repo)
	if err != nil {
		return nil, fmt.Errorf("open the repository %s: %w", d.repo, err)
	}
	for name := range strings.SplitSeq(Place, "/") {
		next, err := enter(dir, name, create)
		_ = dir.Close() // it was only read
		if !create && errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		if err != nil {
			return nil, fmt.Errorf("open %s of %s: %w", Place, d.repo, err)
		}
		dir = next
	}
	return dir, nil
}

// enter opens a directory in another.
func enter(dir *os.Root, name string, create bool) (*os.Root, error) {
	if create {
		if err := dir.Mkdir(name, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, err
		}
	}
	seen, err := dir.Lstat(name)
	if err == nil && !seen.IsDir() {
		err = &fs.PathError{Op: "open", Path: name, Err: errNotDirectory}
	}
	if err != nil {
		return nil, err
	}
	next, err := dir.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if at, err := next.Stat("."); err != nil || !os.SameFile(seen, at) {
		_ = next.Close() // a link has taken its place meanwhile
		return nil, &fs.PathError{Op: "open", Path: name, Err: errNotDirectory}
	}
	return next, nil
}

// files lists the notes in the order of their paths, and reports what it passed over.
func files(dir *os.Root) (found []file, problems []Problem, err error) {
	seen, over, total := 0, 0, int64(0)
	err = fs.WalkDir(dir.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if seen++; seen > maxEntries {
			problems = append(problems, Problem{File: Place, Message: fmt.Sprintf("it has more than %d entries; those after "+
				"%s are not read", maxEntries, name)})
			return fs.SkipAll
		}
		f, message := examine(dir, name, d, err)
		switch {
		case name == ".":
			return err
		case message != "":
			problems = append(problems, Problem{File: path.Join(Place, name), Message: message})
		case d.IsDir() && strings.HasPrefix(d.Name(), "."):
			return fs.SkipDir
		case f.name == "":
		case over > 0, len(found) == maxNotes, total+min(f.size, maxNote) > maxBytes:
			over++
		default:
			found = append(found, f)
			total += min(f.size, maxNote)
		}
		return nil
	})
	if over > 0 {
		problems = append(problems, Problem{File: Place, Message: fmt.Sprintf("there are %d notes; only the first %d by name "+
			"are read (at most %d, of %d MiB together): remove some", len(found)+over, len(found), maxNotes, maxBytes>>20)})
	}
	return found, problems, err
}

// examine tells a note from everything else; the message gives the reason why something that looks like one is none.
func examine(dir *os.Root, name string, d fs.DirEntry, err error) (f file, message string) {
	if err != nil {
		return file{}, "it cannot be read: " + reason(err)
	}
	base, isNote := strings.CutSuffix(d.Name(), ".md")
	if d.IsDir() || !isNote || base == "" || strings.HasPrefix(base, ".") {
		return file{}, ""
	}
	if strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) || r == unicode.ReplacementChar || r == '\\' }) {
		return file{}, "its name has characters that cannot be printed: rename it"
	}
	info, err := dir.Stat(name)
	switch {
	case err != nil:
		return file{}, "it cannot be read: " + reason(err)
	case !info.Mode().IsRegular():
		return file{}, errNotRegular.Error()
	}
	return file{name: strings.TrimSuffix(name, ".md"), size: info.Size(), mtime: info.ModTime().UnixNano()}, ""
}

// reason is an error without the path, which stands before the message already.
func reason(err error) string {
	if inner := new(fs.PathError); errors.As(err, &inner) {
		return inner.Err.Error()
	}
	return err.Error()
}

// read returns a note's bytes; one more than a note may have where it is too large.
func read(dir *os.Root, f file) ([]byte, error) {
	if info, err := dir.Stat(f.name + ".md"); err != nil || !info.Mode().IsRegular() {
		return nil, cmp.Or(err, errNotRegular) // a pipe would be waited for
	}
	r, err := dir.Open(f.name + ".md")
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(io.LimitReader(r, maxNote+1))
}

// add writes the bytes of a note under a name made of its title, which no file has yet, and returns the name. A file that
// holds the very same bytes is taken for it.
func (d notesDir) add(title string, data []byte) (string, error) {
	dir, err := d.open(true)
	if err != nil {
		return "", err
	}
	defer func() { _ = dir.Close() }()
	base := slug(title)
	for i := 1; ; i++ {
		name := base
		if i > 1 {
			name = fmt.Sprintf("%s-%d", base, i)
		}
		err := create(dir, name+".md", data)
		if !errors.Is(err, fs.ErrExist) {
			return name, err
		}
		if had, err := read(dir, file{name: name}); err == nil && bytes.Equal(had, data) {
			return name, nil
		}
	}
}

// create writes a new file, and leaves nothing behind where it cannot.
func create(dir *os.Root, name string, data []byte) error {
	f, err := dir.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return errors.Join(err, dir.Remove(name))
	}
	return nil
}

// slug makes a file name of a title: its letters and digits, folded, with dashes between.
func slug(title string) string {
	const most = 60
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return !isWordRune(r) })
	var b strings.Builder
	for _, w := range words {
		if b.Len() > 0 && b.Len()+len(w) >= most {
			break
		}
		if b.Len() > 0 {
			b.WriteByte('-')
		}
		b.WriteString(text.Head(w, most))
	}
	if b.Len() == 0 {
		return "note"
	}
	return b.String()
}
