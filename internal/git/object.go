package git

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"regexp"
	"strconv"
	"strings"
)

// ReadBlobs reads the contents of files, in order, in one process, and calls visit with each. The content is valid only
// during the call. Gitlinks are left out; symlinks have their target as content. An error of visit ends it and is
// returned as it is.
func (r *Repo) ReadBlobs(ctx context.Context, entries []Entry, visit func(e Entry, content []byte) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var ids strings.Builder
	blobs := make([]Entry, 0, len(entries))
	for _, e := range entries {
		if err := checkIDs(e.OID); err != nil {
			return err
		}
		if e.Mode != ModeGitlink {
			blobs = append(blobs, e)
			ids.WriteString(e.OID + "\n")
		}
	}
	if len(blobs) == 0 {
		return nil
	}
	pr, pw := io.Pipe()
	done := make(chan error, 1)
	go func() {
		_, err := r.g.exec(ctx, call{
			dir: Dir{GitDir: r.dir}, stdin: strings.NewReader(ids.String()), stdout: pw,
			args: []string{"cat-file", "--buffer", "--batch"},
		})
		done <- errors.Join(err, pw.CloseWithError(cmp.Or(err, io.EOF)))
	}()
	err := visitBlobs(bufio.NewReaderSize(pr, 1<<16), blobs, visit)
	if err != nil {
		// git is stopped on purpose: how it takes that does not matter.
		cancel()
		stopped := errors.Join(pr.CloseWithError(err), <-done)
		if !errors.Is(stopped, context.Canceled) && !errors.Is(stopped, err) {
			return errors.Join(err, stopped)
		}
		return err
	}
	if err := <-done; err != nil {
		return fmt.Errorf("read %d files: %w", len(blobs), err)
	}
	return nil
}

func visitBlobs(in *bufio.Reader, blobs []Entry, visit func(Entry, []byte) error) error {
	var content []byte
	for _, e := range blobs {
		line, err := in.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
		info, err := parseInfo(strings.TrimSuffix(line, "\n"))
		if err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
		if info.kind != "blob" {
			return fmt.Errorf("read %s, object %s: %w", e.Path, e.OID, ErrNotFound)
		}
		if info.size > maxOutput {
			return fmt.Errorf("read %s: %d bytes: %w", e.Path, info.size, ErrTooLarge)
		}
		if int64(cap(content)) < info.size+1 {
			content = make([]byte, info.size+1)
		}
		content = content[:info.size+1]
		if _, err := io.ReadFull(in, content); err != nil {
			return fmt.Errorf("read %s: %w", e.Path, err)
		}
		if err := visit(e, content[:info.size]); err != nil {
			return err
		}
	}
	return nil
}

// parseInfo reads the line "oid type size" or "name missing".
func parseInfo(line string) (objectInfo, error) {
	if name, ok := strings.CutSuffix(line, " missing"); ok {
		return objectInfo{id: name}, nil
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
	data, kind, err := r.readObject(ctx, commit+":"+path, limit)
	if err != nil {
		return nil, fmt.Errorf("read %s of %s: %w", path, commit, err)
	}
	if kind != "blob" {
		return nil, fmt.Errorf("read %s of %s: it is a %s: %w", path, commit, kind, ErrNotFound)
	}
	return data, nil
}

// readObject reads one object by its name.
func (r *Repo) readObject(ctx context.Context, name string, limit int64) ([]byte, string, error) {
	out, err := r.g.exec(ctx, call{
		dir: Dir{GitDir: r.dir}, stdin: strings.NewReader(name + "\x00"), limit: int(min(limit, maxOutput)) + 1024 + len(name),
		args: []string{"cat-file", "--batch", "-z"},
	})
	if err != nil && !errors.Is(err, ErrTooLarge) {
		return nil, "", err
	}
	if string(out) == name+" missing\n" {
		return nil, "", ErrNotFound
	}
	line, rest, ok := strings.Cut(string(out), "\n")
	info, infoErr := parseInfo(line)
	if !ok || infoErr != nil {
		return nil, "", errors.Join(err, infoErr)
	}
	if info.size > limit || int64(len(rest)) < info.size {
		return nil, "", fmt.Errorf("%d bytes: %w", info.size, ErrTooLarge)
	}
	return []byte(rest[:info.size]), info.kind, nil
}

// Match calls visit with those of the named files whose content the expression matches, in the order of the entries. The content
// is valid only during the call.
func (r *Repo) Match(
	ctx context.Context, entries []Entry, files []string, re *regexp.Regexp, visit func(path string, content []byte),
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
		if re.Match(content) {
			visit(e.Path, content)
		}
		return nil
	})
}
