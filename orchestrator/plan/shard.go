package plan

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"divisi/internal/spec"
	"divisi/internal/text"
	"divisi/internal/textfile"
	"divisi/orchestrator/run"
)

// sharding is one shard rule applied to a tree.
type sharding struct {
	// done reports that the glob has files, that all were searched, and that the content of none matches.
	done bool
	// silent reports that its command printed nothing.
	silent bool
	rule   spec.Shard
	// protected are the globs whose files the shards may not change.
	protected []string
	// sizes are the files' bytes, matches how often each one matches the rule.
	sizes   map[string]int64
	matches map[string]int

	// taken are the files of shards that the template has; from is the greatest number of those.
	taken map[string]bool
	from  int

	groups [][]string
	// owners are those of the tree, for a rule by owner.
	owners owners
	// chosen is the note on sizes that the rule left open and that are not one unit each.
	chosen string
	// barred are protected files, which shards leave out, unusable those whose names no patch may hold, unread those that are too
	// large to be searched, binaries those that match, links the symbolic links where the rule has its files.
	barred, unusable, unread, binaries, links []string
}

// maxMatched bounds a file that is searched for what a rule matches, in bytes.
const maxMatched = 512 << 20

// has leaves the files out of shards that the template has already.
func (s *sharding) has(shards []spec.Task) {
	s.taken = map[string]bool{}
	for _, t := range shards {
		s.from = max(s.from, last(t.ShardOf, shards))
		for _, f := range t.Files {
			s.taken[f] = true
		}
	}
}

// run makes the groups of files, or returns a problem for the plan's author.
func (s *sharding) run(ctx context.Context, tree Tree) (problem string, err error) {
	all, err := tree.Files(ctx)
	if err != nil {
		return "", err
	}
	var groups [][]string
	if s.rule.By == "command" {
		groups, problem, err = s.byCommand(ctx, tree, all)
	} else {
		var files []string
		files, problem, err = s.matching(ctx, tree, all)
		groups = [][]string{files}
	}
	if err != nil || problem != "" {
		return problem, err
	}
	kept := groups[:0]
	for _, g := range groups {
		if g = s.keep(g); len(g) > 0 {
			kept = append(kept, g)
		}
	}
	switch {
	case len(kept) > 0:
		if s.rule.Match == "" && s.rule.Glob == "" && len(s.rule.Command) == 0 {
			s.barred = nil // nothing named them: all files are those that may be changed
		}
		return s.pack(ctx, tree, kept, all)
	case len(s.barred) > 0:
		return fmt.Sprintf("matches only protected files, %s: write them into files of a task without a shard rule",
			text.Some(s.barred, maxBarred)), nil
	case len(s.taken) > 0:
		return "", nil
	default:
		return fmt.Sprintf("matches only files with names that no patch may have, such as %q", s.unusable[0]), nil
	}
}

// keep leaves out the files that the shards may not change.
func (s *sharding) keep(files []string) []string {
	var out []string
	for _, f := range files {
		if s.taken[f] {
			continue
		}
		switch {
		case spec.WriteSet{}.RefuseNew(f) != "":
			s.unusable = append(s.unusable, f)
		case spec.WriteSet{Protected: s.protected}.Refuse(f) != "":
			s.barred = append(s.barred, f)
		default:
			out = append(out, f)
		}
	}
	return out
}

// maxBarred bounds the protected files that a note names.
const maxBarred = 5

// maxLeftOut bounds the files that a plan names of those that it leaves out.
const maxLeftOut = 100

// leftOut are the files that match and that the shards do not have. A role or a plan that names the old form does not use it.
func (s *sharding) leftOut(template string) (out []run.LeftOut) {
	barred := slices.DeleteFunc(slices.Clone(s.barred), func(f string) bool { return strings.HasPrefix(f, ".divisi/") })
	for _, l := range []run.LeftOut{
		{Kind: "protected file", Files: barred},
		{Kind: "unusable file name", Files: s.unusable},
		{Kind: "oversized file", Files: s.unread},
	} {
		if l.Template, l.More = template, max(0, len(l.Files)-maxLeftOut); len(l.Files) > 0 {
			l.Files = l.Files[:len(l.Files)-l.More]
			out = append(out, l)
		}
	}
	return out
}

func (s *sharding) notes(template string) (out []string) {
	if s.chosen != "" {
		out = append(out, template+s.chosen)
	}
	if n := len(s.barred); n > 0 {
		out = append(out, fmt.Sprintf("%s leaves out %s, %s: write a path into files of a task without a shard rule to have it "+
			"changed", template, text.Count(n, "protected file"), text.Some(s.barred, maxBarred)))
	}
	if n := len(s.unusable); n > 0 {
		out = append(out, fmt.Sprintf("%s skips %s with names that no patch may have, such as %q",
			template, text.Count(n, "file"), s.unusable[0]))
	}
	if n := len(s.unread); n > 0 {
		out = append(out, fmt.Sprintf("%s leaves out %s of more than %d MiB, which match does not search, such as %q",
			template, text.Count(n, "file"), maxMatched>>20, s.unread[0]))
	}
	if n := len(s.binaries); n > 0 {
		out = append(out, fmt.Sprintf("%s has %s where match finds something: %s", template, text.Count(n, "binary file"),
			text.Some(s.binaries, maxBarred)))
	}
	if n := len(s.links); n > 0 {
		out = append(out, fmt.Sprintf("%s leaves out %s, %s: a shard has what it leads to, where that is a file of the rule",
			template, text.Count(n, "symbolic link"), text.Some(s.links, maxBarred)))
	}
	return out
}

// task is the n-th shard of a template, from 0.
func (s *sharding) task(t spec.Task, n int, files []string, writes bool) spec.Task {
	t.ID, t.ShardOf = spec.ShardID(t.ID, n+1), t.ID
	if t.Title == "" {
		t.Title = t.ShardOf
	}
	t.Title = fmt.Sprintf("%s (%s)", t.Title, s.nameOf(files))
	t.Shard, t.Files = nil, files
	if writes {
		t.Rule = &spec.ShardRule{Files: len(files)}
		if s.rule.By != "command" {
			t.Rule.Match = s.rule.Match
		}
		for _, f := range files {
			t.Rule.Matches, t.Rule.Bytes = t.Rule.Matches+s.matches[f], t.Rule.Bytes+s.sizes[f]
		}
	}
	return t
}

// nameOf names a shard by its content: its file, its directory, or the first one and how many more.
func (s *sharding) nameOf(files []string) string {
	dirs := byDir(files)
	switch {
	case s.rule.By == "owner":
		return fmt.Sprintf("%s: %s", cmp.Or(s.owners.of(files[0]), "no owner"), text.Some(files, 1))
	case len(files) == 1:
		return files[0]
	case len(dirs) == 1 && path.Dir(files[0]) != ".":
		return fmt.Sprintf("%s, %d files", path.Dir(files[0]), len(files))
	case len(dirs) == 1 || s.rule.By == "file" || s.rule.By == "command":
		return text.Some(files, 1)
	}
	return fmt.Sprintf("%s and %s", path.Dir(files[0]), text.Count(len(dirs)-1, "more "+s.rule.By))
}

// pack makes the shards of groups of files: what each line of a command printed, else one group with every file. None holds files
// of two modules, but those of a command's line.
func (s *sharding) pack(ctx context.Context, tree Tree, groups [][]string, all []string) (problem string, err error) {
	most := size{files: s.rule.MaxFiles, tokens: s.rule.MaxTokens}
	if most.tokens > 0 {
		most.bytes = s.sizes
	}
	if s.rule.By == "owner" {
		if s.owners, problem, err = readOwners(ctx, tree, all); err != nil || problem != "" {
			return problem, err
		}
	}
	if s.rule.By != "command" {
		groups = newModules(all, moduleFiles...).split(groups[0])
	}
	open := most.files == 0 && most.tokens == 0
	if open {
		most.files = s.choose(groups)
	}
	for _, g := range groups {
		s.groups = append(s.groups, s.cut(g, most, open)...)
	}
	return "", nil
}

// cut makes the shards of one group. A package is never cut, nor a directory or a command's line by a size that was left open.
func (s *sharding) cut(files []string, most size, open bool) [][]string {
	switch by := s.rule.By; {
	case by == "command" && open:
		return [][]string{files}
	case by == "file", by == "command":
		return most.split(files)
	case by == "package", by == "dir" && open:
		return most.join(byDir(files))
	case by == "dir":
		return most.cutDirs(files)
	}
	var out [][]string
	for _, own := range grouped(files, s.owners.of) {
		out = append(out, most.cutDirs(own)...)
	}
	return out
}

func (s *sharding) matching(ctx context.Context, tree Tree, all []string) ([]string, string, error) {
	glob := s.rule.Glob
	if glob == "" && s.rule.By == "package" {
		glob = "**/*.go"
	}
	files := slices.DeleteFunc(slices.Clone(all), func(f string) bool {
		return glob != "" && !doublestar.MatchUnvalidated(glob, f)
	})
	found := len(files)
	if err := s.leaveLinks(ctx, tree, func(f string) bool {
		return glob != "" && doublestar.MatchUnvalidated(glob, f) || glob == "" && s.rule.Match == ""
	}); err != nil {
		return nil, "", err
	}
	if s.rule.Match != "" {
		p, err := textfile.Compile(s.rule.Match)
		if err != nil {
			return nil, fmt.Sprintf("match is not a regular expression: %v", err), nil
		}
		files = slices.DeleteFunc(files, func(f string) bool {
			if s.sizes[f] > maxMatched {
				s.unread = append(s.unread, f)
			}
			return s.sizes[f] > maxMatched
		})
		if s.matches, s.binaries, err = tree.Match(ctx, p, files); err != nil {
			return nil, "", err
		}
		files = slices.DeleteFunc(files, func(f string) bool { return s.matches[f] == 0 })
	}
	if len(files) == 0 && len(s.taken) == 0 {
		hint := ""
		if strings.ContainsAny(s.rule.Match, "^$") && !strings.Contains(s.rule.Match, "(?m") {
			found = 0
			hint = "; ^ and $ match the ends of a line only after (?m)"
		}
		s.done = found > 0 && s.rule.Match != "" && len(s.unread) == 0
		return nil, fmt.Sprintf("matches none of %d files (%s)%s", len(all), words(glob, s.rule.Match), hint), nil
	}
	return files, "", nil
}

// words name the parts that a rule has.
func words(glob, match string) string {
	var by []string
	for _, part := range [][2]string{{"glob", glob}, {"match", match}} {
		if part[1] != "" {
			by = append(by, fmt.Sprintf("%s %q", part[0], part[1]))
		}
	}
	return strings.Join(by, ", ")
}

// leaveLinks notes the symbolic links that a rule means.
func (s *sharding) leaveLinks(ctx context.Context, tree Tree, meant func(string) bool) error {
	links, err := tree.Links(ctx)
	for _, l := range links {
		if meant(l) {
			s.links = append(s.links, l)
		}
	}
	return err
}

func (s *sharding) byCommand(ctx context.Context, tree Tree, all []string) (groups [][]string, problem string, err error) {
	lines, err := tree.Shards(ctx, s.rule.Command)
	if err != nil {
		return nil, err.Error(), nil // the plan's author chose the command: its failure is an error of the plan
	}
	s.silent = strings.TrimSpace(strings.Join(lines, "")) == ""
	links, err := tree.Links(ctx)
	if err != nil {
		return nil, "", err
	}
	groups, s.links, problem = printedShards(lines, all, links)
	if problem != "" {
		return nil, "its command " + problem, nil
	}
	return groups, "", nil
}

func byDir(files []string) [][]string { return grouped(files, path.Dir) }

// grouped puts files with the same key together, in the order of the keys.
func grouped(files []string, key func(string) string) (out [][]string) {
	groups := map[string][]string{}
	for _, f := range files {
		groups[key(f)] = append(groups[key(f)], f)
	}
	for _, k := range slices.Sorted(maps.Keys(groups)) {
		out = append(out, groups[k])
	}
	return out
}
