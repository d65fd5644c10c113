package gate

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"divisi/internal/lazyregexp"
	"divisi/subagents/gate/trace"
)

// maxCached bounds the results of caches that are kept of one gate.
const maxCached = 10_000

var (
	// goCached is a Go package whose tests did not run, since their outcome was known.
	goCached = lazyregexp.New(`^ok  \t(\S+)\t.*\(cached\)`)
	// otherCached are such results of nx, turbo, bazel and gradle.
	otherCached = lazyregexp.New(`\[(?:local cache|remote cache|existing outputs match the cache)|` +
		`\bcache hit, (?:replaying|suppressing) |^//\S+ +\(cached\) PASSED|^> Task \S*[tT]est\S* (?:UP-TO-DATE|FROM-CACHE)$`)
)

// cache takes from a line the result that a tool has from its cache.
func (f *findings) cache(line string) {
	if !strings.Contains(line, "cache") && !strings.HasPrefix(line, "> Task ") || len(f.cached) >= maxCached {
		return
	}
	if m := goCached.FindStringSubmatch(line); m != nil {
		f.cached = append(f.cached, m[1])
	} else if otherCached.MatchString(line) || strings.Contains(line, "FROM-CACHE") {
		f.cached = append(f.cached, "")
	}
}

// stale reports whether a gate is green by results of a cache that may not know what changed. Go knows the Go files of a package
// and what its tests open themselves, and not what a program reads that they start. What other tools know nothing tells.
// On the base commit all of them count.
func stale(ctx context.Context, command, cached []string, where *Where) (bool, error) {
	if len(cached) == 0 || where.Baseline == nil || where.Changed == nil {
		return len(cached) > 0 && where.Baseline == nil, nil
	}
	changed, err := where.Changed(ctx)
	if err != nil {
		return false, fmt.Errorf("list the changes since the base commit: %w", err)
	}
	switch {
	case len(changed) == 0:
		return false, nil
	case slices.Contains(cached, ""), slices.ContainsFunc(changed, untracked):
		return true, nil
	}
	starts, err := trace.Starts(where.Dir, command, cached)
	if err != nil {
		return false, fmt.Errorf("find tests that start programs: %w", err)
	}
	return starts, nil
}

// untracked reports whether go cannot know that a test depends on a file.
func untracked(file string) bool {
	return path.Ext(file) != ".go" && !slices.Contains([]string{"go.mod", "go.sum", "go.work", "go.work.sum"}, path.Base(file))
}

// Anew returns an environment in which tools run tests although their outcome is known.
func Anew(env []string) []string {
	env = append(slices.Clone(env), "NX_SKIP_NX_CACHE=true", "TURBO_FORCE=true")
	for i, entry := range env {
		if flags, ok := strings.CutPrefix(entry, "GOFLAGS="); ok {
			env[i] = "GOFLAGS=" + strings.TrimSpace(flags+" -count=1")
			return env
		}
	}
	return append(env, "GOFLAGS=-count=1")
}
