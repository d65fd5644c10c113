package brief

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"divisi/contextscope/compile"
	"divisi/internal/git"
	"divisi/internal/spec"
	"divisi/internal/textfile"
	"divisi/subagents/tool/files"
	"divisi/subagents/wire"
)

const (
	// maxGiven bounds, in bytes, the files that come with a brief; their outlines have as much. Of a small window it is a
	// quarter at most.
	maxGiven = 24 << 10
	// maxGivenFiles is how many files a small write set has.
	maxGivenFiles = 30
)

// filesOf reads the files of a small write set in the commit that the attempt starts from, so that its agent can edit in its
// first turn: those that read_file would show to it. What does not fit is outlined. The commit is sealed with the assignment,
// so the same request can be compiled again.
func filesOf(ctx context.Context, tree Tree, a *wire.Assignment, window int) ([]compile.File, error) {
	names := slices.DeleteFunc(slices.Clone(a.Task.Files), func(name string) bool {
		return !fs.ValidPath(name) || strings.ContainsAny(name, `*?[{\:`)
	})
	reads := slices.Contains(a.Role.Tools, spec.ToolReadFile) && slices.ContainsFunc(a.Role.Tools, spec.WritingTool)
	if a.Patch != nil || !reads || len(names) == 0 || len(names) > maxGivenFiles {
		return nil, nil
	}
	commit := a.Head
	if a.Start != nil {
		commit = a.Start.Commit
	}
	entries, err := tree.FilesUnder(ctx, commit, names...)
	if err != nil || len(entries) > maxGivenFiles {
		return nil, err
	}
	left := maxGiven
	if window > 0 {
		left = min(left, window) // a token is about four bytes
	}
	outlines := left
	var given []compile.File
	for _, e := range entries {
		if e.Mode != git.ModeFile && e.Mode != git.ModeExec || e.Size > maxGuide {
			continue
		}
		data, err := tree.ReadFile(ctx, commit, e.Path, maxGuide)
		if err != nil {
			return nil, err
		}
		f, ok := textfile.Read(data)
		if !ok || !utf8.Valid(f.Text) {
			continue
		}
		if len(f.Text) <= left {
			left -= len(f.Text)
			given = append(given, compile.File{Path: e.Path, Text: string(f.Text)}) // as edit_file finds it
			continue
		}
		if path.Ext(e.Path) != ".go" {
			continue
		}
		if outline := files.OutlineGo(e.Path, data); len(outline) <= outlines {
			outlines -= len(outline)
			given = append(given, compile.File{Path: e.Path, Outline: outline})
		}
	}
	return given, nil
}
