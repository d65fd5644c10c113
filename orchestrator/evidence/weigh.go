package evidence

import (
	"context"
	"errors"
	"fmt"
	"regexp"

	"divisi/internal/git"
	"divisi/orchestrator/acceptance/testsource"
	"divisi/orchestrator/landing/rank"
)

// The most that is read to weigh patches: bytes of a patch, of a test file and of all of them, and test files.
const (
	maxWeighedPatch = 64 << 10
	maxTestFile     = 256 << 10
	maxTestBytes    = 32 << 20
	maxTestFiles    = 5000
)

// Weigh reads patches and the tests that fail.
func Weigh(ctx context.Context, mirror *git.Repo, a rank.Weigh) (rank.Evidence, error) {
	e := rank.Evidence{Patches: map[string]string{}, Sources: make([]rank.Source, len(a.Failures))}
	for task, p := range a.Patches {
		diff, _, err := mirror.Diff(ctx, p.Base, p.Commit, maxWeighedPatch)
		if err != nil {
			return e, fmt.Errorf("read the patch of %s: %w", task, err)
		}
		e.Patches[task] = diff
	}
	for i, f := range a.Failures {
		for _, file := range f.Files {
			data, err := mirror.ReadFile(ctx, a.Head, file, maxTestFile)
			if errors.Is(err, git.ErrNotFound) || errors.Is(err, git.ErrTooLarge) || errors.Is(err, git.ErrBadName) {
				continue
			}
			if err != nil {
				return e, fmt.Errorf("read a test that fails: %w", err)
			}
			if e.Sources[i].Text == "" || testsource.IsTest(file) {
				e.Sources[i] = rank.Source{Path: file, Text: rank.Block(string(data), f.Name)}
			}
		}
	}
	if err := findTests(ctx, mirror, a, e.Sources); err != nil {
		return e, fmt.Errorf("look for the tests that fail: %w", err)
	}
	return e, nil
}

// findTests looks in the test files of the tree for the tests of failures that name no file of it.
func findTests(ctx context.Context, mirror *git.Repo, a rank.Weigh, sources []rank.Source) error {
	names := map[int]*regexp.Regexp{}
	for i, f := range a.Failures {
		if re := rank.NameIn(f.Name); re != nil && sources[i].Text == "" {
			names[i] = re
		}
	}
	if len(names) == 0 {
		return nil
	}
	files, err := mirror.Files(ctx, a.Head)
	if err != nil {
		return err
	}
	var tests []git.Entry
	left := int64(maxTestBytes)
	for _, f := range files {
		if (f.Mode == git.ModeFile || f.Mode == git.ModeExec) && f.Size <= min(left, maxTestFile) && len(tests) < maxTestFiles &&
			testsource.IsTest(f.Path) {
			tests, left = append(tests, f), left-f.Size
		}
	}
	return mirror.ReadBlobs(ctx, tests, func(f git.Entry, content []byte) error {
		for i, re := range names {
			if sources[i].Text == "" && re.Match(content) {
				sources[i] = rank.Source{Path: f.Path, Text: rank.Block(string(content), a.Failures[i].Name)}
			}
		}
		return nil
	})
}
