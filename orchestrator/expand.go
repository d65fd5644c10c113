package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/spec"
)

// Tree is the content of one commit, as far as expanding a plan needs it.
type Tree interface {
	// Files returns every regular file's path, sorted.
	Files(ctx context.Context) ([]string, error)
	// Match returns those of the given files whose content matches, in the same order.
	Match(ctx context.Context, re *regexp.Regexp, files []string) ([]string, error)
	// Shards runs the command of a shard rule (by: command) in a clean tree and returns the lines that it printed.
	Shards(ctx context.Context, command []string) ([]string, error)
}

// Expand turns templates into tasks. It returns every fault that it finds; with one, no task. The same plan over the same
// tree expands to the same tasks. A task that waits for a template still names the template: it stands for all of its shards,
// and a thousand shards that wait for a thousand others would else be a million names.
func Expand(ctx context.Context, plan spec.Plan, tree Tree) ([]spec.Task, []spec.Problem, error) {
	var tasks []spec.Task
	var problems []spec.Problem
	for i, t := range plan.Tasks {
		t.Constraints = append(slices.Clone(plan.Constraints), t.Constraints...)
		if t.Shard == nil {
			tasks = append(tasks, t)
			continue
		}
		groups, problem, err := shard(ctx, *t.Shard, tree)
		if err != nil {
			return nil, nil, fmt.Errorf("expand task %s: %w", t.ID, err)
		}
		if problem != "" {
			problems = append(problems, spec.Problem{Path: fmt.Sprintf("tasks[%d].shard", i), Message: problem})
			continue
		}
		for n, g := range groups {
			tasks = append(tasks, shardTask(t, n, g))
		}
	}
	if len(problems) > 0 {
		return nil, problems, nil
	}
	return tasks, duplicates(tasks), nil
}

func duplicates(tasks []spec.Task) []spec.Problem {
	seen := map[string]bool{}
	var out []spec.Problem
	for _, t := range tasks {
		if seen[t.ID] {
			message := fmt.Sprintf("two tasks have the id %s once shards are expanded", t.ID)
			out = append(out, spec.Problem{Path: "tasks", Message: message})
		}
		seen[t.ID] = true
	}
	return out
}

func shardTask(t spec.Task, n int, files []string) spec.Task {
	s := t
	s.ID = spec.ShardID(t.ID, n+1)
	s.ShardOf = t.ID
	s.Shard = nil
	s.Files = files
	s.Title = fmt.Sprintf("%s (%s)", cmp.Or(t.Title, t.ID), nameOf(files))
	return s
}

// nameOf names a shard for people: its file, or the directory that holds it, and how many files it has.
func nameOf(files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	dir := path.Dir(files[0])
	for _, f := range files[1:] {
		for dir != "." && !strings.HasPrefix(f, dir+"/") {
			dir = path.Dir(dir)
		}
	}
	if dir == "." {
		return fmt.Sprintf("%s and %d more", files[0], len(files)-1)
	}
	return fmt.Sprintf("%s, %d files", dir, len(files))
}

// shard returns the groups of files of one rule, or a problem for the plan's author.
func shard(ctx context.Context, rule spec.Shard, tree Tree) (groups [][]string, problem string, err error) {
	if rule.By == "command" {
		return shardByCommand(ctx, rule, tree)
	}
	files, problem, err := matching(ctx, rule, tree)
	if err != nil || problem != "" {
		return nil, problem, err
	}
	switch rule.By {
	case "file":
		return pack(split(files, 1), max(1, rule.MaxFiles)), "", nil
	case "dir":
		return packDirs(byDir(files), rule.MaxFiles, true), "", nil
	default: // package: its files move together
		return packDirs(byDir(files), rule.MaxFiles, false), "", nil
	}
}

func matching(ctx context.Context, rule spec.Shard, tree Tree) ([]string, string, error) {
	all, err := tree.Files(ctx)
	if err != nil {
		return nil, "", err
	}
	glob := rule.Glob
	if glob == "" && rule.By == "package" {
		glob = "**/*.go"
	}
	files := all
	if glob != "" {
		files = nil
		for _, f := range all {
			if doublestar.MatchUnvalidated(glob, f) {
				files = append(files, f)
			}
		}
	}
	if rule.Match != "" {
		re, err := regexp.Compile(rule.Match)
		if err != nil {
			return nil, fmt.Sprintf("match is not a regular expression: %v", err), nil
		}
		if files, err = tree.Match(ctx, re, files); err != nil {
			return nil, "", err
		}
	}
	if len(files) == 0 {
		return nil, fmt.Sprintf("matches none of %d files (glob %q, match %q)", len(all), glob, rule.Match), nil
	}
	return files, "", nil
}

func shardByCommand(ctx context.Context, rule spec.Shard, tree Tree) ([][]string, string, error) {
	lines, err := tree.Shards(ctx, rule.Command)
	if err != nil {
		return nil, err.Error(), nil //nolint:nilerr // the plan's author chose the command: its failure is a fault of the plan
	}
	all, err := tree.Files(ctx)
	if err != nil {
		return nil, "", err
	}
	var groups [][]string
	for _, l := range lines {
		g := strings.Fields(l)
		for _, f := range g {
			if _, ok := slices.BinarySearch(all, f); !ok {
				return nil, fmt.Sprintf("its command printed %q, which is no file of the base commit", f), nil
			}
		}
		if len(g) > 0 {
			groups = append(groups, split(g, cmp.Or(rule.MaxFiles, len(g)))...)
		}
	}
	if len(groups) == 0 {
		return nil, "its command printed no files", nil
	}
	return groups, "", nil
}

func byDir(files []string) [][]string {
	dirs := map[string][]string{}
	for _, f := range files {
		dirs[path.Dir(f)] = append(dirs[path.Dir(f)], f)
	}
	var out [][]string
	for _, d := range slices.Sorted(maps.Keys(dirs)) {
		out = append(out, dirs[d])
	}
	return out
}

// packDirs joins small neighbours up to most files a shard; 0 keeps one directory a shard. Larger ones are cut if they may be.
func packDirs(dirs [][]string, most int, cut bool) [][]string {
	if most <= 0 {
		return dirs
	}
	var groups [][]string
	for _, d := range dirs {
		if cut {
			groups = append(groups, split(d, most)...)
		} else {
			groups = append(groups, d)
		}
	}
	return pack(groups, most)
}

func pack(groups [][]string, most int) [][]string {
	var out [][]string
	for _, g := range groups {
		if n := len(out); n > 0 && len(out[n-1])+len(g) <= most {
			out[n-1] = append(out[n-1], g...)
			continue
		}
		out = append(out, slices.Clone(g))
	}
	return out
}

func split(files []string, most int) [][]string {
	return slices.Collect(slices.Chunk(files, max(1, most)))
}

// Ceiling returns the most tokens that the tasks may use, every attempt counted, and zero when no model takes part.
func Ceiling(tasks []spec.Task, roles map[string]spec.Role, project spec.Project) int {
	sum := 0
	for _, t := range tasks {
		role := roles[t.Role]
		if role.Runs(spec.ExecutorModel) {
			sum += cmp.Or(t.Limits.Tokens, role.Limits.Tokens, project.Limits.Tokens) * max(1, t.Attempts)
		}
	}
	return sum
}
