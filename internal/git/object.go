package git

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"

	"divisi/internal/textfile"
)

// ReadBlobs reads the contents of files, in order, and calls visit with each. The content is valid only during the call.
// Gitlinks are left out; symlinks have their target as content. An error of visit ends it and is returned as it is.
func (r *Repo) ReadBlobs(ctx context.Context, entries []Entry, visit func(e Entry, content []byte) error) error {
	blobs := make([]Entry, 0, len(entries))
	names := make([]string, 0, len(entries))
	for _, e := range entries {
		if err := checkIDs(e.OID); err != nil {
			return err
		}
		if e.Mode != ModeGitlink {
			blobs, names = append(blobs, e), append(names, e.OID)
		}
	}
	var refused error
	err := r.objects(ctx, "contents", names, maxOutput, func(i int, o object) error {
		e := blobs[i]
		switch {
		case o.kind != "blob":
			refused = fmt.Errorf("read %s, object %s: %w", e.Path, e.OID, ErrNotFound)
		case o.size > maxOutput:
			refused = fmt.Errorf("read %s: %d bytes: %w", e.Path, o.size, ErrTooLarge)
		default:
			refused = visit(e, o.content)
		}
		return refused
	})
	if err != nil && refused == nil {
		return fmt.Errorf("read %d files: %w", len(blobs), err)
	}
	return err
}

// object is one that was looked up, and its content where that was asked for.
type object struct {
	objectInfo

	content []byte
}

// objects looks objects up by their names and calls visit with each, in their order; a missing one has no kind. The content is
// valid only during the call, and left out where it has more than limit bytes. An error of visit ends it.
func (r *Repo) objects(
	ctx context.Context, what string, names []string, limit int64, visit func(i int, o object) error,
) error {
	if len(names) == 0 {
		return nil
	}
	var question strings.Builder
	for _, name := range names {
		question.WriteString(what + " " + name + "\x00")
	}
	question.WriteString("flush\x00")
	c := call{
		dir: Dir{GitDir: r.dir, Index: nowhere}, config: []string{"core.deltaBaseCacheLimit=16m"},
		args: []string{"cat-file", "--batch-command", "--buffer", "-z"},
	}
	visited := 0 // by a process that died then
	return r.ask(ctx, &r.reads, c, []byte(question.String()), func(in *bufio.Reader) error {
		var content []byte
		for i, name := range names {
			o, err := readObject(in, name, what == "contents", limit, content)
			if err != nil {
				return fmt.Errorf("read object %.80q: %w", name, err)
			}
			if content = o.content; i < visited {
				continue
			}
			visited++
			if err := visit(i, o); err != nil {
				return err
			}
		}
		return nil
	})
}

// readObject reads the answer about one object. The content may be put into the buffer.
func readObject(in *bufio.Reader, name string, whole bool, limit int64, buffer []byte) (o object, err error) {
	line, err := in.ReadString('\n')
	for err == nil && line != name+" missing\n" && strings.HasPrefix(name+" missing\n", line) { // a name with line breaks
		var more string
		more, err = in.ReadString('\n')
		line += more
	}
	if err != nil {
		return o, err
	}
	if o.objectInfo, err = parseInfo(strings.TrimSuffix(line, "\n")); err != nil || o.kind == "" || !whole {
		return o, err
	}
	if o.size > limit {
		_, err = io.CopyN(io.Discard, in, o.size+1)
		return o, err
	}
	if int64(cap(buffer)) < o.size+1 {
		buffer = make([]byte, o.size+1)
	}
	_, err = io.ReadFull(in, buffer[:o.size+1])
	o.content = buffer[:o.size]
	return o, err
}

// parseInfo reads the line "oid type size" or "name missing"; git 2.51 has "oid submodule" for a path that is one.
func parseInfo(line string) (objectInfo, error) {
	for _, none := range []string{" missing", " submodule"} {
		if name, ok := strings.CutSuffix(line, none); ok {
			return objectInfo{id: name}, nil
		}
	}
	fields := strings.Split(line, " ")
	if len(fields) != 3 || !ValidID(fields[0]) {
		return objectInfo{}, fmt.Errorf("object record %q: %w", line, errFormat)
	}
	size, err := strconv.ParseInt(fields[2], 10, 64)
	if err != nil || size < 0 {
		return objectInfo{}, fmt.Errorf("object record %q: %w", line, errFormat)
	}
	return objectInfo{id: fields[0], kind: fields[1], size: size}, nil
}

// ReadFile returns the content of one file of a commit. What is not a file there is ErrNotFound, a file of more than
// limit bytes ErrTooLarge.
func (r *Repo) ReadFile(ctx context.Context, commit, path string, limit int64) ([]byte, error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	if !fs.ValidPath(path) || strings.Contains(path, "\x00") {
		return nil, fmt.Errorf("path %q: %w", path, ErrBadName)
	}
	data, kind, err := r.object(ctx, commit+":"+path, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, commit, err)
	}
	if kind != "blob" {
		return nil, fmt.Errorf("read %s of %s: it is a %s: %w", path, commit, kind, ErrNotFound)
	}
	return data, nil
}

// object reads one object by its name.
func (r *Repo) object(ctx context.Context, name string, limit int64) (content []byte, kind string, err error) {
	var refused error
	err = r.objects(ctx, "contents", []string{name}, limit, func(_ int, o object) error {
		switch content, kind = o.content, o.kind; {
		case kind == "":
			refused = ErrNotFound
		case o.size > limit:
			refused = fmt.Errorf("%d bytes: %w", o.size, ErrTooLarge)
		}
		return nil
	})
	return content, kind, cmp.Or(err, refused)
}

// Match calls visit with those of the named files that the expression matches, in the order of the entries, how often, and
// whether the file is a binary.
func (r *Repo) Match(
	ctx context.Context, entries []Entry, files []string, p *textfile.Pattern, visit func(path string, matches int, binary bool),
) error {
	want := make(map[string]bool, len(files))
	for _, f := range files {
		want[f] = true
	}
	var asked []Entry
	for _, e := range entries {
		if want[e.Path] && (e.Mode == ModeFile || e.Mode == ModeExec) {
			asked = append(asked, e)
		}
	}
	return r.ReadBlobs(ctx, asked, func(e Entry, content []byte) error {
		if lines, binary := p.Lines(content, -1); len(lines) > 0 {
			visit(e.Path, len(lines), binary)
		}
		return nil
	})
}
