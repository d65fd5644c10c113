package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// The modes of a tree's entries, as git writes them.
const (
	ModeFile    = "100644"
	ModeExec    = "100755"
	ModeSymlink = "120000"
	ModeGitlink = "160000"
	// ModeNone stands for no file: before an addition, after a deletion.
	ModeNone = "000000"
)

// errFormat reports that git printed something that this package does not understand.
var errFormat = errors.New("unexpected output of git")

// Entry is one file of a tree.
type Entry struct {
	// Path is relative to the top, with slashes.
	Path string
	// Mode is one of the Mode constants.
	Mode string
	OID  string
	// Size is in bytes; 0 for a gitlink.
	Size int64
}

// Files lists every file of a commit or tree, sorted by path.
func (r *Repo) Files(ctx context.Context, commit string) ([]Entry, error) {
	return r.FilesUnder(ctx, commit)
}

// FilesUnder lists the files of a commit or tree at and below the paths, sorted by path; all files where none is given.
func (r *Repo) FilesUnder(ctx context.Context, commit string, paths ...string) ([]Entry, error) {
	return r.list(ctx, "-l", commit, paths...)
}

func (r *Repo) list(ctx context.Context, flag, commit string, paths ...string) ([]Entry, error) {
	if err := checkIDs(commit); err != nil {
		return nil, err
	}
	out, err := r.run(ctx, append([]string{"ls-tree", "-r", "-z", flag, "--full-tree", commit, "--"}, paths...)...)
	if err != nil {
		return nil, fmt.Errorf("list the files of %s: %w", commit, err)
	}
	return parseTree(out)
}

// Unusual lists the submodules of a commit, and reports whether it has a directory without a file: no index keeps one.
func (r *Repo) Unusual(ctx context.Context, commit string) (links []string, emptyDirs bool, err error) {
	entries, err := r.list(ctx, "-t", commit)
	for i, e := range entries {
		switch {
		case e.Mode == ModeGitlink:
			links = append(links, e.Path)
		case e.Mode == "0"+modeTree && (i+1 == len(entries) || !strings.HasPrefix(entries[i+1].Path, e.Path+"/")):
			emptyDirs = true
		}
	}
	return links, emptyDirs, err
}

// parseTree reads the records of ls-tree -z, with or without -l: "mode type oid[ size]\tpath\0".
func parseTree(out []byte) ([]Entry, error) {
	entries := make([]Entry, 0, bytes.Count(out, []byte{0}))
	for len(out) > 0 {
		record, rest, ok := bytes.Cut(out, []byte{0})
		if !ok {
			return nil, fmt.Errorf("a file list that ends in %q: %w", record, errFormat)
		}
		out = rest
		e, err := parseEntry(string(record))
		if err != nil {
			return nil, err
		}
		entries = append(entries, e)
	}
	return entries, nil
}

func parseEntry(record string) (Entry, error) {
	meta, path, ok := strings.Cut(record, "\t")
	fields := strings.Fields(meta)
	if !ok || path == "" || len(fields) < 3 || len(fields) > 4 || !validMode(fields[0]) || !ValidID(fields[2]) {
		return Entry{}, fmt.Errorf("file record %q: %w", record, errFormat)
	}
	e := Entry{Path: path, Mode: fields[0], OID: fields[2]}
	if len(fields) == 4 && fields[3] != "-" {
		size, err := strconv.ParseInt(fields[3], 10, 64)
		if err != nil || size < 0 {
			return Entry{}, fmt.Errorf("size in file record %q: %w", record, errFormat)
		}
		e.Size = size
	}
	return e, nil
}

func validMode(s string) bool {
	return len(s) == 6 && strings.Trim(s, "01234567") == ""
}
