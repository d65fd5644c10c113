package tester

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/subagents/gate"
	"divisi/subagents/grade"
)

// beyond watches a gate with paths on the base commit. why is, once it has ended, why these do not name all that it depends on:
// it opens files that other gates' paths name alone, or what it opens is not known. What setup or a command makes of such files
// may have any name. Results of caches would open nothing: it runs without them.
func (t *Executor) beyond(ctx context.Context, g spec.Gate, where *gate.Where, why *string) error {
	blobs, err := t.Blobs(ctx)
	if err != nil {
		return fmt.Errorf("list the files beyond the paths of gate %s: %w", g.Name, err)
	}
	project, names := &t.Assignment.Project, []string(nil)
	for _, name := range slices.Sorted(maps.Keys(blobs)) {
		if project.InPaths(name) && !spec.MatchAny(g.Paths, name) {
			names = append(names, name)
		}
	}
	made := len(project.Regenerate) > 0 || t.Under != nil && len(t.Under.Derived(project.Derived)) > 0
	if made || t.Under != nil && slices.ContainsFunc(names, func(name string) bool {
		reads, manifest := t.Under.Decides(&project.Setup, name)
		return reads && !manifest
	}) {
		*why = "what setup or regenerate makes of tracked files may lie elsewhere"
	}
	where.Env = gate.Anew(where.Env)
	touched := grade.Touched(t.Dir, names)
	where.OnEnd = func() {
		switch files, lack := touched(); {
		case lack != "":
			*why = "what it opens is not known: " + lack
		case len(files) > 0:
			*why = "it opens " + text.Some(files, maxManifests)
		}
	}
	return nil
}

// apart watches a gate on the base commit for Divisi's own files and directories, and the history. end writes into the receipt
// where it opened none: then its outcome holds for a commit that differs in them alone. Whether it asks for one path, without
// opening a directory, no watch sees: its command and the scripts that this names do not have the name. What is no regular file
// may lead elsewhere. The gate keeps its caches, which the gates of patches need: a result of one counts as reading.
func (t *Executor) apart(ctx context.Context, g spec.Gate, where *gate.Where) (end func(r *spec.Receipt), err error) {
	names, plain := []string{".git", ".git/HEAD"}, true
	err = filepath.WalkDir(filepath.Join(t.Dir, spec.OwnDir), func(file string, e fs.DirEntry, err error) error {
		if err == nil {
			plain = plain && (e.IsDir() || e.Type().IsRegular())
			file, err = filepath.Rel(t.Dir, file)
		}
		names = append(names, filepath.ToSlash(file))
		return err
	})
	if none := errors.Is(err, fs.ErrNotExist); none || err == nil && !plain {
		return func(*spec.Receipt) {}, nil
	}
	named := false
	if err == nil {
		named, err = t.namesOwn(ctx, where.Args(g))
	}
	if err != nil {
		return nil, fmt.Errorf("list Divisi's own files: %w", err)
	}
	if named {
		return func(*spec.Receipt) {}, nil
	}
	touched := grade.Touched(t.Dir, names)
	return func(r *spec.Receipt) {
		if files, lack := touched(); lack == "" && len(files) == 0 && !*where.Stale {
			r.Unread = []spec.Unread{{Path: spec.OwnDir, Grade: spec.GradeUnread}}
		}
	}, nil
}

// namesOwn reports whether a command line, or a file that it names, has the name of the directory of Divisi's own files.
func (t *Executor) namesOwn(ctx context.Context, args []string) (bool, error) {
	line := strings.Join(args, " ")
	blobs, err := t.Blobs(ctx)
	if err != nil || strings.Contains(line, spec.OwnDir) {
		return true, err
	}
	for _, word := range strings.Fields(line) {
		name := path.Clean(word)
		if _, there := blobs[name]; !there {
			continue
		}
		if data, err := t.Read(ctx, name); err != nil || bytes.Contains(data, []byte(spec.OwnDir)) {
			return true, err
		}
	}
	return false, nil
}
